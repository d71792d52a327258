package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// disk is a spool that lets each write wait, or fail, as it is told. In a bubble its
// waiting takes no time.
type disk struct {
	spool
	wait   func(write int) time.Duration // < 0: for ever
	before bool                          // it waits before it looks at what it is to write
	full   atomic.Bool                   // for all but the end of a log, which has a reserve
	from   int                           // it is full from this write on; 0: never
	writes int
	stuck  chan struct{}
	opens  time.Duration // how long it takes to open; < 0: it fails then
}

func (d *disk) Spool(_ context.Context, opened store.Event) (store.Spool, error) {
	if time.Sleep(max(d.opens, -d.opens)); d.opens < 0 {
		return nil, errors.New("no such folder")
	}
	return d, d.spool.Write([]store.Part{{Event: opened}})
}

func (d *disk) Write(parts []store.Part) error {
	d.writes++
	if ends := parts[len(parts)-1].Kind == store.Closed; d.writes == d.from {
		d.full.Store(true)
	} else if d.full.Load() && ends {
		return d.spool.Write(parts)
	}
	if d.full.Load() {
		return errors.New("no space left")
	}
	if d.before {
		d.pause()
	}
	if err := d.spool.Write(parts); err != nil {
		return err
	}
	if !d.before {
		d.pause()
	}
	return nil
}

func (d *disk) pause() {
	if d.wait == nil {
		return
	}
	if w := d.wait(d.writes); w >= 0 {
		time.Sleep(w)
	} else {
		<-d.stuck
	}
}

// nth returns a wait for one write, and none for the others.
func nth(n int, d time.Duration) func(int) time.Duration {
	return func(write int) time.Duration {
		if write == n {
			return d
		}
		return 0
	}
}

// peers are a client and a server that answers, with a recorder between them.
type peers struct {
	t    *testing.T
	r    *Recorder
	ask  func(i int) (took time.Duration)
	quit func()
}

// byPass connects them through the taps of a stdio session.
func byPass(t *testing.T, r *Recorder) *peers {
	up, upW := io.Pipe()
	srv, srvW := io.Pipe()
	down, downW := io.Pipe()
	cl, clW := io.Pipe()
	ended := make(chan struct{}, 3)
	c2s, s2c := r.Tap(transport.ClientToServer), r.Tap(transport.ServerToClient)
	go func() { c2s.Pass(srvW, up); srvW.Close(); ended <- struct{}{} }()
	go func() { s2c.Pass(clW, down); clW.Close(); ended <- struct{}{} }()
	go func() {
		buf := make([]byte, 1<<17)
		for {
			n, err := srv.Read(buf)
			if err != nil {
				downW.Close()
				ended <- struct{}{}
				return
			}
			fmt.Fprintf(downW, "re: %d\n", n)
		}
	}()
	lines := make([]byte, 64)
	return &peers{t, r, func(i int) time.Duration {
		start := time.Now()
		fmt.Fprintf(upW, "ask %d\n", i)
		if n, err := cl.Read(lines); err != nil || !bytes.HasPrefix(lines[:n], []byte("re: ")) {
			t.Fatalf("ask %d: got %q, %v", i, lines[:n], err)
		}
		return time.Since(start)
	}, func() {
		upW.Close()
		for range 3 {
			<-ended
		}
	}}
}

// byConn connects them in process.
func byConn(t *testing.T, r *Recorder) *peers {
	pipe := transport.NewPipe(1, 1, nil)
	client := r.Conn(pipe.Client(), transport.ClientToServer)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			f, err := pipe.Server().Read(t.Context())
			if err != nil || pipe.Server().Write(t.Context(), f) != nil {
				return
			}
		}
	}()
	return &peers{t, r, func(i int) time.Duration {
		start := time.Now()
		if err := client.Write(t.Context(), transport.Frame{Bytes: fmt.Appendf(nil, "ask %d", i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}, func() { client.Close(); <-ended }}
}

var faces = []struct {
	name    string
	connect func(*testing.T, *Recorder) *peers
}{{"stdio", byPass}, {"in process", byConn}, {"over HTTP", byProxy}, {"in an HTTP client", byRoundTrip}}

// begin starts a recording on a disk.
func (d *disk) begin(t *testing.T, options ...Option) *Recorder {
	t.Helper()
	r, err := New(t.Context(), d, store.Header{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// frames counts what is in the log, whose frames are whole and in order.
func (d *disk) frames(t *testing.T) (n int, kinds string) {
	t.Helper()
	for _, e := range d.events {
		if e.Kind == store.Frame && e.Dir == transport.ClientToServer {
			n++
		}
		if e.Kind != store.Frame && e.Kind != store.EOF && e.Kind != store.HTTP {
			kinds += " " + string(e.Kind)
		}
	}
	return n, strings.TrimSpace(kinds)
}

// A write that does not return holds a frame for the bound, at most. All that passes
// meanwhile is in the log when it has returned, in order.
func TestStuckWrite(t *testing.T) {
	for _, face := range faces {
		for _, stuck := range []time.Duration{Bound / 4, 10 * time.Second} {
			t.Run(fmt.Sprint(face.name, stuck), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &disk{wait: nth(4, stuck)}
					var troubles []error
					r := d.begin(t, Trouble(func(err error) { troubles = append(troubles, err) }))
					p := face.connect(t, r)
					longest := time.Duration(0)
					for i := range 50 {
						longest = max(longest, p.ask(i))
						time.Sleep(time.Millisecond)
					}
					if longest > min(stuck, Bound) {
						t.Errorf("a frame was held for %v", longest)
					}
					time.Sleep(20 * time.Second)
					p.ask(50)
					p.quit()
					sum := r.Close()
					synctest.Wait()
					n, kinds := d.frames(t)
					want, told := "opened closed", 0
					if stuck > Bound {
						want, told = "opened note closed", 1
					}
					if n != 51 || kinds != want || sum.Lost != 0 || sum.Err != nil || (sum.Trouble != nil) != (told == 1) {
						t.Errorf("%d frames, %s, summary %+v", n, kinds, sum)
					}
					if len(troubles) != told {
						t.Errorf("told %v", troubles)
					}
				})
			})
		}
	}
	storetest.Tell(t, "a write that does not return, for 25 ms and 10 s", 2*len(faces), "held for 100 ms at most; all of it is recorded")
}

// A disk that is slow at every write holds nothing up for longer than the bound either.
func TestSlowDisk(t *testing.T) {
	for _, face := range faces {
		for _, slow := range []time.Duration{10 * time.Millisecond, time.Second} {
			t.Run(fmt.Sprint(face.name, slow), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &disk{wait: func(int) time.Duration { return slow }}
					r := d.begin(t)
					p := face.connect(t, r)
					whole := time.Now()
					for i := range 100 {
						if took := p.ask(i); took > 2*Bound {
							t.Fatalf("ask %d took %v", i, took)
						}
					}
					if took := time.Since(whole); took > 100*3*slow || // over HTTP the head of an answer is written by itself
						slow > Bound && took > 2*Bound {
						t.Errorf("all took %v", took)
					}
					p.quit()
					sum := r.Close()
					if n, kinds := d.frames(t); n != 100 || sum.Lost != 0 {
						t.Errorf("%d frames, %s, summary %+v", n, kinds, sum)
					}
				})
			})
		}
	}
	storetest.Tell(t, "a disk that takes 10 ms, 1 s for each write", 2*len(faces), "the same")
}

// What fails is tried again, and nothing is lost when the disk takes it at last.
func TestFullDiskWithRoomAgain(t *testing.T) {
	for _, face := range faces {
		t.Run(face.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{from: 6}
				r := d.begin(t)
				p := face.connect(t, r)
				for i := range 30 {
					p.ask(i)
				}
				d.full.Store(false)
				time.Sleep(time.Second)
				p.ask(30)
				p.quit()
				sum := r.Close()
				if n, kinds := d.frames(t); n != 31 || kinds != "opened note closed" || sum.Lost != 0 || sum.Err != nil || sum.Trouble == nil {
					t.Errorf("%d frames, %s, summary %+v", n, kinds, sum)
				}
			})
		})
	}
	storetest.Tell(t, "a full disk that has room again", len(faces), "all of it is recorded")
}

// Beyond its memory a recorder loses, and says where and how much.
func TestBudgetIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{wait: nth(4, 10*time.Second)}
		budget := NewBudget(10_000)
		r := d.begin(t, Within(budget))
		p := byPass(t, r)
		held := int64(0)
		for i := range 500 {
			p.ask(i)
			held = max(held, budget.held.Load())
		}
		time.Sleep(20 * time.Second)
		p.ask(500)
		p.quit()
		sum := r.Close()
		n, kinds := d.frames(t)
		if kinds != "opened lost note closed" || held > 10_000 {
			t.Errorf("%s; held %d", kinds, held)
		}
		lost, frames := uint64(0), 0
		for _, e := range d.events {
			if e.Kind == store.Lost {
				info, err := store.DecodePayload[store.LostInfo](e)
				if err != nil || info.Reason != ErrNoAnswer.Error() {
					t.Errorf("lost %+v, %v", info, err)
				}
				lost += info.Frames
			}
			if e.Kind == store.Frame {
				frames++
			}
		}
		if n >= 501 || frames+int(lost) != 2*501 || sum.Lost != lost || sum.Frames != uint64(frames) {
			t.Errorf("%d frames, %d lost, summary %+v", frames, lost, sum)
		}
		if budget.held.Load() != 0 {
			t.Errorf("%d bytes are held at the end", budget.held.Load())
		}
	})
	storetest.Tell(t, "more to remember than there is memory", 1, "counted, in one gap; the memory is kept to")
}

// When the disk stays full to the end, the end is told, and what it takes the place of.
func TestFullToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{from: 6}
		r := d.begin(t)
		tap := r.Tap(transport.ClientToServer)
		for i := range 10 {
			observe(t, tap, fmt.Sprintf("frame %d\nbeg", i))
			observe(t, tap, "un\n")
		}
		r.Record(store.Exited, transport.NoDirection, store.ExitInfo{Code: 3})
		sum := r.Close()
		expect(t, &d.spool, `
2 frame c2s frame 0
3 frame c2s begun
4 frame c2s frame 1
5 frame c2s begun
6 frame c2s frame 2
7 frame c2s unterminated beg
8 lost  {"frames":15,"bytes":86,"reason":"no space left","streams":["c2s","s2c","stderr"]}
9 exit  {"code":3}
10 closed  {"frames":6,"lost":15}
`)
		if sum.Frames != 6 || sum.Lost != 15 || sum.Err == nil {
			t.Errorf("summary %+v", sum)
		}
	})
	storetest.Tell(t, "a disk that stays full", 1, "what is lost is counted; the end is told")
}

// A disk that never answers again ends nobody's session, nor does it hold its end.
func TestStuckForEver(t *testing.T) {
	for _, face := range faces {
		t.Run(face.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{wait: nth(4, -1), stuck: make(chan struct{})}
				r := d.begin(t)
				p := face.connect(t, r)
				for i := range 50 {
					p.ask(i)
				}
				p.quit()
				start := time.Now()
				sum := r.Close()
				if took := time.Since(start); took > 2*patience {
					t.Errorf("close took %v", took)
				}
				if sum.Lost == 0 || !errors.Is(sum.Err, ErrNoAnswer) {
					t.Errorf("summary %+v", sum)
				}
				synctest.Wait()
				if n, kinds := d.frames(t); n != 2 || kinds != "opened" {
					t.Errorf("%d frames, %s", n, kinds)
				}
				close(d.stuck)
			})
		})
	}
	storetest.Tell(t, "a disk that never answers again", len(faces), "the session goes on and ends; what is lost is said")
}

// A session begins whether or not its file can be made now.
func TestSlowOpening(t *testing.T) {
	for _, face := range faces {
		for _, opens := range []time.Duration{10 * time.Second, -10 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{opens: opens}
				start := time.Now()
				r := d.begin(t)
				p := face.connect(t, r)
				for i := range 50 {
					p.ask(i)
				}
				if took := time.Since(start); took > Bound {
					t.Errorf("%s: held up for %v", face.name, took)
				}
				p.quit()
				sum := r.Close()
				n, kinds := d.frames(t)
				if opens > 0 && (n != 50 || kinds != "opened note closed" || sum.Err != nil) {
					t.Errorf("%s: %d frames, %s, summary %+v", face.name, n, kinds, sum)
				}
				if opens < 0 && (n != 0 || sum.Lost < 100 || sum.Frames != 0 || sum.Err == nil) {
					t.Errorf("%s: %d frames, %s, summary %+v", face.name, n, kinds, sum)
				}
			})
		}
	}
	storetest.Tell(t, "a disk that does not answer when a session begins", 2*len(faces), "the session begins; all of it is recorded")
}

// A strict recorder passes nothing on that is not written.
func TestStrict(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{stuck: make(chan struct{})}
			if stuck {
				d.wait = nth(3, -1)
			} else {
				d.from = 3
			}
			told := error(nil)
			r := d.begin(t, Strict(), Trouble(func(err error) { told = err }))
			var out bytes.Buffer
			src := strings.NewReader("a\nb\nc\nd\n")
			info := r.Tap(transport.ClientToServer).Pass(&out, oneByOne{src})
			synctest.Wait()
			if info.By != "receiver" || out.String() != "a\nb\n" || told == nil {
				t.Errorf("passed on %q, %+v, told %v", &out, info, told)
			}
			if sum := r.Close(); sum.Err == nil {
				t.Errorf("summary %+v", sum)
			}
			close(d.stuck)
		})
	}
	storetest.Tell(t, "the same under --strict", 2, "nothing passes that is not recorded; the session ends")
}

// oneByOne reads two bytes at once.
type oneByOne struct{ io.Reader }

func (r oneByOne) Read(b []byte) (int, error) { return r.Reader.Read(b[:2]) }

// A disk that is slower than what passes, and takes something all the time, holds up
// what finds no room in memory, and nothing is lost.
func TestBusyDisk(t *testing.T) {
	for _, face := range faces {
		t.Run(face.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{wait: func(int) time.Duration { return Bound + roomTime/4 }}
				r := d.begin(t, Within(NewBudget(2000)))
				p := face.connect(t, r)
				for i := range 1000 {
					p.ask(i)
				}
				p.quit()
				sum := r.Close()
				if n, kinds := d.frames(t); n != 1000 || sum.Lost != 0 || sum.Err != nil {
					t.Errorf("%d frames, %s, summary %+v", n, kinds, sum)
				}
			})
		})
	}
	storetest.Tell(t, "a disk that is slower than what passes", len(faces), "what finds no room waits for it; all of it is recorded")
}
