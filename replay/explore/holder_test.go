package explore

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// locker is an end that holds its mutex over each Write, and whose reader takes the mutex.
type locker struct {
	conn   transport.Conn
	mu     sync.Mutex
	frames int
}

// send holds the mutex over the Write, and then waits for ever without it.
func (l *locker) send(ctx context.Context) error {
	l.mu.Lock()
	err := l.conn.Write(ctx, frame(`{"method":"x"}`))
	l.mu.Unlock()
	if err == nil {
		forEver(ctx)
	}
	return err
}

// count takes the mutex for each frame.
func (l *locker) count(ctx context.Context) {
	for _, err := l.conn.Read(ctx); err == nil; _, err = l.conn.Read(ctx) {
		l.mu.Lock()
		l.frames++
		l.mu.Unlock()
	}
}

// lockers has both ends send: the reader of each waits for the mutex that a sender of its own
// end holds at a Write, which the other reader does not take.
func lockers(r *Run) {
	client, server := &locker{conn: r.Client()}, &locker{conn: r.Server()}
	r.Go(client.count)
	r.Go(server.count)
	r.Op("c1", client.send)
	r.Op("c2", client.send)
	r.Op("s1", server.send)
	r.Op("s2", server.send)
}

// Who may hold a mutex is read from the receivers on the stacks: a goroutine of the other end is
// not named, though it is in the same function.
func TestHolder(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	r := Search(t, Plan{Strategy: Eager, Capacities: fixed(0, 0), Patience: 10 * time.Millisecond, Setup: lockers})
	if r.Verdict != Hang || r.Category != Lock {
		t.Fatal(r.Text())
	}
	if note := string(r.Events[len(r.Events)-2].Payload); !strings.HasPrefix(note, "hang lock, token ") {
		t.Errorf("the recording notes %q", note)
	}
	var said []string
	for _, w := range r.Waits {
		if w.WaitsFor == "a mutex" {
			said = append(said, w.Why)
		}
	}
	slices.Sort(said)
	at := regexp.MustCompile(` at explore\.\S+ \w+\.go:\d+`)
	got := at.ReplaceAllString(strings.Join(said, "\n"), "")
	want := "held, it seems, by one of: operation c2, operation c1\nheld, it seems, by one of: operation s2, operation s1"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s\n%s", got, want, r.Text())
	}
}
