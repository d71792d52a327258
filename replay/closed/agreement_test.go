package closed

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/transport"
)

// TestAgreement runs the ends' machines as goroutines over real bounded pipes,
// in bubbles, and asks for the same verdict and the same frames read as the
// pure replay has, and as the capacity analysis says. The bubble says when nothing moves any more.
func TestAgreement(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	hangs, cases := 0, 3_000
	switch {
	case os.Getenv("MCPREC_NIGHT") != "":
		cases = 1_000_000
	case testing.Short():
		cases = 500
	}
	for i := range cases {
		lines := replaytest.RandomLines(rng, rng.IntN(30))
		r, s := load(t, lines), randomSetup(rng)
		verdict := agreesLive(t, r, s, [...]func(context.Context, Capacity) (port, port){transportPipe, channelPipe}[i%2], lines)
		if slack, safe := r.Need(s.Client, s.Server).Slack(s.Capacity); (verdict == Pass) != (safe && slack >= 0) {
			t.Fatalf("%v: goroutines: %s, slack %d, %v\n%s", s, verdict, slack, safe, lines)
		}
		if verdict == Hang {
			hangs++
		}
	}
	if hangs < cases/10 || hangs > cases*9/10 {
		t.Errorf("%d of %d cases hang: they say little", hangs, cases)
	}
	t.Logf("%d cases, %d hangs", cases, hangs)
}

// agreesLive runs the ends of a recording as goroutines and returns the verdict that they
// and the replay have in common.
func agreesLive(t *testing.T, r *Recording, s Setup, pipe func(context.Context, Capacity) (client, server port), text string) string {
	t.Helper()
	v := Replay(r, s)
	var client, server *end
	synctest.Test(t, func(t *testing.T) { client, server = runLive(r, s, pipe) })
	passed := client.sent() && server.sent() && client.read() && server.read()
	if passed != (v.Verdict == Pass) || int(client.given) != v.Frames.S2C.Read || int(server.given) != v.Frames.C2S.Read {
		t.Fatalf("%v: goroutines: pass %v, read %d c2s, %d s2c\n%s\n%s", s, passed, server.given, client.given, text, v.Text())
	}
	return v.Verdict
}

// port is one end of a pipe: false when the pipe was torn down.
type port struct {
	write, read func() bool
}

func transportPipe(ctx context.Context, c Capacity) (client, server port) {
	p := transport.NewPipe(int(c.C2S), int(c.S2C), nil)
	of := func(conn transport.Conn) port {
		return port{
			write: func() bool { return conn.Write(ctx, transport.Frame{}) == nil },
			read:  func() bool { _, err := conn.Read(ctx); return err == nil },
		}
	}
	return of(p.Client()), of(p.Server())
}

// channelPipe owes nothing to Lane: Go's own channels have the same meaning.
func channelPipe(ctx context.Context, c Capacity) (client, server port) {
	lane := func(r Room) chan struct{} {
		if r < 0 {
			r = 1000
		}
		return make(chan struct{}, r)
	}
	c2s, s2c := lane(c.C2S), lane(c.S2C)
	of := func(out, in chan struct{}) port {
		return port{
			write: func() bool {
				select {
				case out <- struct{}{}:
					return true
				case <-ctx.Done():
					return false
				}
			},
			read: func() bool {
				select {
				case <-in:
					return true
				case <-ctx.Done():
					return false
				}
			},
		}
	}
	return of(c2s, s2c), of(s2c, c2s)
}

// runLive runs both ends until nothing moves and returns their machines.
func runLive(r *Recording, s Setup, pipe func(context.Context, Capacity) (client, server port)) (client, server *end) {
	ctx, cancel := context.WithCancel(context.Background())
	both := scriptsOf(r, s, nil)
	c, d := pipe(ctx, s.Capacity)
	ends := []*liveEnd{newLive(both[transport.ClientToServer], c), newLive(both[transport.ServerToClient], d)}
	for _, l := range ends {
		if l.end.model.kind == singleThreaded {
			go l.thread()
			continue
		}
		go l.writer()
		go l.reader()
	}
	synctest.Wait()
	cancel()
	for _, l := range ends {
		l.stop()
	}
	synctest.Wait()
	return &ends[0].end, &ends[1].end
}

// liveEnd is an end's machine with goroutines around it.
type liveEnd struct {
	port
	mu      sync.Mutex
	changed *sync.Cond
	stopped bool
	end     end
}

func newLive(s *script, p port) *liveEnd {
	l := &liveEnd{port: p, end: end{script: s}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

func (l *liveEnd) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.changed.Broadcast()
}

// await waits until the machine allows a step, and notes that it began.
func (l *liveEnd) await(allowed func() bool, begun *int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !allowed() {
		if l.stopped {
			return false
		}
		l.changed.Wait()
	}
	*begun++
	return true
}

func (l *liveEnd) note(done *int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*done++
	l.changed.Broadcast()
}

func (l *liveEnd) writer() {
	for l.await(l.end.offers, &l.end.offered) && l.write() {
		l.note(&l.end.acked)
	}
}

func (l *liveEnd) reader() {
	for l.await(l.end.wants, &l.end.wanted) && l.read() {
		l.note(&l.end.given)
	}
}

// thread goes through the local order, as one thread does: it never needs to
// wait for anything but the pipe.
func (l *liveEnd) thread() {
	for j, hold := range l.end.hold {
		for l.end.acked < hold {
			l.end.offered++
			if !l.write() {
				return
			}
			l.end.acked++
		}
		if j == len(l.end.hold)-1 || !l.read() {
			return
		}
		l.end.given++
	}
}

// TestSeedLive runs the seed as the client session of python-sdk 1.3.0 has it, a
// receive loop in front of a queue and a caller that waits, and no script: the
// inbox model says the same.
func TestSeedLive(t *testing.T) {
	for n := range 5 {
		for q := range 5 {
			for _, capacity := range []Room{0, 1, 10} {
				r := load(t, "> 1:call!\n"+notifications(n)+"< 1=")
				want := Replay(r, Setup{Capacity: Capacity{capacity, capacity}, Client: NotificationQueue(q)}).Verdict
				got := Hang
				synctest.Test(t, func(*testing.T) {
					if seedLive(n, q, int(capacity)) {
						got = Pass
					}
				})
				if got != want {
					t.Errorf("%d notifications, queue %d, buffer %v: live %s, replay %s", n, q, capacity, got, want)
				}
			}
		}
	}
}

func notifications(n int) (lines string) {
	for range n {
		lines += "< ~progress\n"
	}
	return lines
}

func seedLive(n, q, capacity int) (answered bool) {
	stop := make(chan struct{})
	wire, incoming, response := make(chan bool, capacity), make(chan bool, q), make(chan bool, 1)
	send := func(to chan bool, v bool) {
		select {
		case to <- v:
		case <-stop:
		}
	}
	go func() { // the server
		for i := range n + 1 {
			send(wire, i == n)
		}
	}()
	go func() { // the receive loop
		for {
			select {
			case last := <-wire:
				if last {
					response <- true
					return
				}
				send(incoming, false)
			case <-stop:
				return
			}
		}
	}()
	synctest.Wait()
	select {
	case answered = <-response:
	default:
	}
	close(stop)
	synctest.Wait()
	return answered
}
