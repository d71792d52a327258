package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

const id = store.SessionID("0190aaaa-0000-7000-8000-0000000000ff")

// last is where a log ends.
var last = store.Head{Seq: 1 << 20, Chain: [32]byte{1, 2, 3}}

// every is a point each so many events.
func every(n int) spacing { return spacing{events: n, bytes: 1 << 40} }

func newFold(t testing.TB, s spacing) *Fold {
	t.Helper()
	f := New()
	f.spacing = s
	return f
}

func apply(t testing.TB, f *Fold, events []store.Event) {
	t.Helper()
	for _, e := range events {
		if err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
}

// entries are the lines of a transcript.
func entries(t testing.TB, f *Fold, events []store.Event) string {
	t.Helper()
	var b strings.Builder
	transcript, err := f.Transcript(func(e timeline.Entry) error {
		fmt.Fprintln(&b, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := transcript.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestResume: from each point of the bundled sessions and of real ones ($MCPREC_CORPUS
// names more) the rest of the session comes out as from its start.
func TestResume(t *testing.T) {
	folders := []string{"../../fixtures", "../../fixtures/testdata/sessions", "../../store/foreign/testdata/mcp-frames", os.Getenv("MCPREC_CORPUS")}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.jsonl"))
		if err != nil || len(files) == 0 && folder != "" {
			t.Fatalf("%s: %d sessions, %v", folder, len(files), err)
		}
		for _, path := range files {
			events, err := jsonl.ReadFile(path)
			if err != nil {
				t.Fatal(path, err)
			}
			resumes(t, path, events)
		}
	}
}

func resumes(t *testing.T, path string, events []store.Event) {
	t.Helper()
	whole := newFold(t, every(max(1, len(events)/20)))
	apply(t, whole, events)
	want := whole.transcript.AppendCalls(whole.state.AppendSnapshot(nil, 0))
	lines := strings.SplitAfter(entries(t, newFold(t, defaultSpacing), events), "\n")
	image, err := Read(whole.Image().Bytes(id, "test", last), id, "test")
	if err != nil || len(image.Points()) < 2 {
		t.Fatalf("%s: %d points, %v", path, len(image.Points()), err)
	}
	if image.log != last || !image.Fits(last) || image.Fits(store.Head{Seq: last.Seq}) || !image.Fits(store.Head{Seq: last.Seq + 1}) || image.Fits(store.Head{Seq: last.Seq - 1}) {
		t.Errorf("%s: does not know its log", path)
	}
	if !image.Opened(events[0]) || image.Opened(events[1]) {
		t.Errorf("%s: does not know its first event", path)
	}
	for n, p := range image.Points() {
		if !p.Is(events[p.Seq-1]) || int(p.Seq) < len(events) && p.Is(events[p.Seq]) || p.At != events[p.Seq-1].At {
			t.Errorf("%s: the point behind #%d does not know its event", path, p.Seq)
		}
		f, err := image.Resume(n)
		if err != nil {
			t.Fatalf("%s: #%d: %v", path, p.Seq, err)
		}
		rest := events[p.Seq:]
		if got := entries(t, f, rest); got != strings.Join(lines[p.Seq:], "") {
			t.Fatalf("%s: the transcript from #%d:\n%s", path, p.Seq, got)
		}
		apply(t, f, rest)
		if !bytes.Equal(f.transcript.AppendCalls(f.state.AppendSnapshot(nil, 0)), want) {
			t.Fatalf("%s: what comes from #%d is something else", path, p.Seq)
		}
		if got := len(f.Image().Points()); got != len(image.Points()) {
			t.Errorf("%s: from #%d there are %d points", path, p.Seq, got)
		}
	}
}

// TestGrow: an image that is taken up again grows into the one that was made at once.
func TestGrow(t *testing.T) {
	events := traffic(5000)
	whole := newFold(t, every(100))
	apply(t, whole, events)
	var f *Fold
	for from := 0; from < len(events); from += 700 {
		part := events[from:min(from+700, len(events))]
		if f == nil {
			f = newFold(t, every(100))
		} else {
			image, err := Read(f.Image().Bytes(id, "test", last), id, "test")
			if err != nil {
				t.Fatal(err)
			}
			if f, err = image.Resume(len(image.Points()) - 1); err != nil {
				t.Fatal(err)
			}
			f.spacing = every(100)
		}
		apply(t, f, part)
	}
	if !bytes.Equal(f.Image().Bytes(id, "test", last), whole.Image().Bytes(id, "test", last)) {
		t.Errorf("%d points, %d at once", len(f.Image().Points()), len(whole.Image().Points()))
	}
}

// TestCostBounded: where nothing is ever answered or shown to be taken, the points still
// take less than the log.
func TestCostBounded(t *testing.T) {
	f := newFold(t, defaultSpacing)
	size := 0
	for i, e := range traffic(60_000) {
		if e.Dir == transport.ServerToClient {
			e.Payload = []byte(`{"method":"notifications/message"}`)
		}
		apply(t, f, []store.Event{e})
		if i == 0 {
			continue
		}
		size += len(e.Payload)
	}
	image := f.Image()
	if n := len(image.Points()); n < 2 || len(image.Bytes(id, "test", last)) > size {
		t.Errorf("%d points of %d bytes for %d bytes", n, len(image.Bytes(id, "test", last)), size)
	}
}

// traffic is a session of calls and their answers.
func traffic(n int) []store.Event {
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: id}.Encode()}}
	for i := range n - 1 {
		e := store.Event{Seq: uint64(i + 2), At: time.Duration(i) * time.Microsecond, Kind: store.Frame, Dir: transport.ClientToServer}
		e.Payload = fmt.Appendf(nil, `{"id":%d,"method":"tools/call","params":{"name":"x","arguments":{"text":"some text"}}}`, i/2)
		if i%2 == 1 {
			e.Dir, e.Payload = transport.ServerToClient, fmt.Appendf(nil, `{"id":%d,"result":{}}`, i/2)
		}
		events = append(events, e)
	}
	return events
}

// TestRefused: what is not the image of the session is not read, and of one that is cut
// or damaged what is before that.
func TestRefused(t *testing.T) {
	f := newFold(t, every(100))
	apply(t, f, traffic(300))
	b := f.Image().Bytes(id, "test", last)
	for name, err := range map[string]error{
		"empty":   second(Read(nil, id, "test")),
		"session": second(Read(b, "0190aaaa-0000-7000-8000-0000000000fe", "test")),
		"program": second(Read(b, id, "tess")),
		"longer":  second(Read(b, id, "tester")),
		"version": second(Read(append([]byte(magic+"\x09"), b[9:]...), id, "test")),
		"no id":   second(Read(b, "x", "test")),
	} {
		if err == nil {
			t.Errorf("%s: is read", name)
		}
	}
	for n := 0; n < len(b); n += 1 + n%7 {
		cut, _ := Read(b[:n], id, "test")
		flipped := bytes.Clone(b)
		flipped[n] ^= 4
		damaged, _ := Read(flipped, id, "test")
		for _, image := range []*Image{cut, damaged} {
			if image == nil {
				continue
			}
			if got := len(image.Points()); got >= len(f.Image().Points()) || len(image.Bytes(id, "test", last)) > n {
				t.Fatalf("%d points, %d bytes, wrong from byte %d", got, len(image.Bytes(id, "test", last)), n)
			}
		}
	}
}

func second(_ *Image, err error) error { return err }

// FuzzRead: no bytes make it panic, and what is read is what was written. The checksum of
// a point is made right, or the fuzzer would not come further.
func FuzzRead(f *testing.F) {
	fold := newFold(f, every(10))
	apply(f, fold, traffic(50))
	whole := fold.Image().Bytes(id, "test", last)
	f.Add(whole, false)
	key, _ := id.Bytes()
	start := head(key, "test", [32]byte{}, last)
	size := binary.LittleEndian.Uint32(whole[len(start):])
	f.Add(whole[len(start)+8:][:size], true)
	f.Fuzz(func(t *testing.T, b []byte, point bool) {
		if point {
			body := b
			b = binary.LittleEndian.AppendUint32(bytes.Clone(start), uint32(len(body)))
			b = append(binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, castagnoli)), body...)
		}
		image, err := Read(b, id, "test")
		if err != nil {
			return
		}
		if got := image.Bytes(id, "test", image.log); len(got) > 0 && !bytes.HasPrefix(b, got) {
			t.Error("not what was read")
		}
		for n := range image.Points() {
			if f, err := image.Resume(n); err == nil {
				f.State().View(0)
			}
		}
	})
}
