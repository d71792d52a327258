package server

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// mostHeap is the most live heap in bytes that a session of any size may take on its way up or down, with
// the client and the server in one process: a part, the windows of zstd, and some events of 1 MiB.
const mostHeap = 96 << 20

// TestMemory: a session goes up and down with bounded memory. In the long form it has 1 GiB.
func TestMemory(t *testing.T) {
	mebibytes := 96
	if storetest.Night() {
		mebibytes = 1024
	}
	srv, s := open(t, "")
	path := filepath.Join(t.TempDir(), "object")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	srv.answer(onDisk(file))
	id := idAt(noon, 1)
	var most, mostTaken uint64
	look := func(seq uint64) {
		var stats runtime.MemStats
		if seq%16 == 0 {
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		mostTaken = max(mostTaken, stats.HeapInuse)
		if seq%16 == 0 {
			most = max(most, stats.HeapAlloc)
		}
	}
	events := func(yield func(store.Event, error) bool) {
		for _, event := range session(id, noon, mebibytes+2, 0) {
			if event.Kind == store.Frame {
				event.Payload = noise(1<<20, int(event.Seq))
			}
			look(event.Seq)
			if !yield(event, nil) {
				return
			}
		}
	}
	began := time.Now()
	head, err := s.Put(t.Context(), id, events, nil)
	if err != nil {
		t.Fatal(err)
	}
	up := time.Since(began)
	stat, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	n := uint64(0)
	for event, err := range s.Read(t.Context(), id, 0, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		n = event.Seq
		look(n)
	}
	t.Logf("%d MiB, object of %d MiB: up in %v, down in %v, most heap %d MiB live, %d MiB with garbage, largest request %d MiB",
		mebibytes, stat.Size()>>20, up.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), most>>20, mostTaken>>20, srv.largest>>20)
	if n != head.Seq || most > mostHeap {
		t.Errorf("%d events of %d, heap of %d MiB", n, head.Seq, most>>20)
	}
}

// onDisk answers for the session object from a file, so that the server holds nothing in memory.
func onDisk(file *os.File) func(w http.ResponseWriter, r *http.Request, real http.Handler) bool {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !strings.HasSuffix(keyOf(r), ".zst") {
			return false
		}
		size, _ := file.Seek(0, io.SeekEnd)
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodPost && query.Has("uploads"):
			type InitiateMultipartUploadResult struct{ Bucket, Key, UploadId string }
			_ = xml.NewEncoder(w).Encode(InitiateMultipartUploadResult{bucket, keyOf(r), "1"})
		case r.Method == http.MethodPut:
			w.Header().Set("ETag", fmt.Sprintf("%q", query.Get("partNumber")))
			_, _ = io.Copy(file, r.Body)
		case r.Method == http.MethodPost:
			type CompleteMultipartUploadResult struct{ Bucket, Key, ETag string }
			_ = xml.NewEncoder(w).Encode(CompleteMultipartUploadResult{bucket, keyOf(r), "x"})
		case size == 0:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.Header().Set("ETag", `"x"`)
			w.Header().Set("Content-Type", "application/zstd")
			http.ServeContent(w, r, "", noon, io.NewSectionReader(file, 0, size))
		}
		return true
	}
}
