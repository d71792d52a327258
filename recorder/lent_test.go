package recorder

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Memory that is lent is free for others when the last reader is closed, and not before;
// who is closed reads nothing of theirs.
func TestLentBytes(t *testing.T) {
	l := lend(lendFrom)
	copy(l.text, "mine")
	first, second := l.open(), l.open()
	if n, err := first.Read(make([]byte, 3)); n != 3 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	l.free()
	_, _ = first.Close(), first.Close()
	if l.holders.Load() != 1 {
		t.Errorf("%d hold what one reads", l.holders.Load())
	}
	if n, err := first.Read(make([]byte, 1)); n != 0 || err != http.ErrBodyReadAfterClose {
		t.Errorf("who is closed read %d bytes, %v", n, err)
	}
	if b, err := io.ReadAll(second); len(b) != lendFrom || string(b[:4]) != "mine" || err != nil {
		t.Errorf("%d bytes %.4q, %v", len(b), b, err)
	}
	if _ = second.Close(); l.holders.Load() != 0 {
		t.Errorf("%d hold what nobody reads", l.holders.Load())
	}
}

// Bodies whose memory is lent come whole and unmixed, though many servers answer before
// they have read, and their connections are given up or used again.
func TestProxyLentBodies(t *testing.T) {
	tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Early") != "" {
			_, _ = io.WriteString(w, `{"early":true}`)
			return
		}
		b, err := io.ReadAll(r.Body)
		if c := b[len(b)/2 : len(b)/2+1]; err != nil || strings.Count(string(b), string(c)) != len(b)-2 {
			t.Errorf("a body of %d bytes, %v: not all is %s", len(b), err, c)
		}
		_, _ = fmt.Fprintf(w, `{"size":%d}`, len(b))
	}, HTTPOptions{})
	var all sync.WaitGroup
	for c := range 8 {
		all.Go(func() {
			for i := range scale(30, 3000) {
				body := `"` + strings.Repeat(string(rune('a'+(c*7+i)%26)), lendFrom+(i*7919)%60000) + `"`
				r, _ := http.NewRequest(http.MethodPost, tt.url, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				if i%3 == 0 {
					r.Header.Set("Early", "yes")
				}
				resp, err := http.DefaultClient.Do(r)
				if err != nil { // the server closed it before it was sent
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
	tt.close()
}
