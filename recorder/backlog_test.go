package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

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
		budget := newBudget(10_000)
		r := d.begin(t, holding(budget))
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
8 lost  {"frames":15,"bytes":101,"reason":"no space left","streams":["c2s"]}
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
				r := d.begin(t, holding(newBudget(2000)))
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
