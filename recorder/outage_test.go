package recorder_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// A write that does not return holds a frame for the bound, at most. All that passes
// meanwhile is in the log when it has returned, in order.
func TestStuckWrite(t *testing.T) {
	for _, face := range faces {
		for _, stuck := range []time.Duration{outage.Bound / 4, 10 * time.Second} {
			t.Run(fmt.Sprint(face.name, stuck), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &storetest.Disk{Wait: storetest.Nth(4, stuck)}
					var troubles []error
					r := begin(t, d, recorder.Trouble(func(err error) { troubles = append(troubles, err) }))
					p := face.connect(t, r)
					longest := time.Duration(0)
					for i := range 50 {
						longest = max(longest, p.ask(i))
						time.Sleep(time.Millisecond)
					}
					if longest > min(stuck, outage.Bound) {
						t.Errorf("a frame was held for %v", longest)
					}
					time.Sleep(20 * time.Second)
					p.ask(50)
					p.quit()
					sum := r.Close()
					synctest.Wait()
					n, kinds := frames(t, d)
					want, told := "opened closed", 0
					if stuck > outage.Bound {
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
					d := &storetest.Disk{Wait: func(int) time.Duration { return slow }}
					r := begin(t, d)
					p := face.connect(t, r)
					whole := time.Now()
					for i := range 100 {
						if took := p.ask(i); took > 2*outage.Bound {
							t.Fatalf("ask %d took %v", i, took)
						}
					}
					if took := time.Since(whole); took > 100*3*slow || // over HTTP the head of an answer is written by itself
						slow > outage.Bound && took > 2*outage.Bound {
						t.Errorf("all took %v", took)
					}
					p.quit()
					sum := r.Close()
					if n, kinds := frames(t, d); n != 100 || sum.Lost != 0 {
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
				d := &storetest.Disk{From: 6}
				r := begin(t, d)
				p := face.connect(t, r)
				for i := range 30 {
					p.ask(i)
				}
				if r.Waiting() == 0 {
					t.Error("nothing waits for the full disk")
				}
				d.Full.Store(false)
				time.Sleep(time.Second)
				p.ask(30)
				p.quit()
				sum := r.Close()
				if n := r.Waiting(); n != 0 {
					t.Errorf("%d events wait at the end", n)
				}
				if n, kinds := frames(t, d); n != 31 || kinds != "opened note closed" || sum.Lost != 0 || sum.Err != nil || sum.Trouble == nil {
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
		d := &storetest.Disk{Wait: storetest.Nth(4, 10*time.Second)}
		budget := outage.NewBudget(10_000)
		r := begin(t, d, recorder.Holding(budget))
		p := byPass(t, r)
		held := int64(0)
		for i := range 500 {
			p.ask(i)
			held = max(held, budget.Held())
		}
		time.Sleep(20 * time.Second)
		p.ask(500)
		p.quit()
		sum := r.Close()
		n, kinds := frames(t, d)
		if kinds != "opened lost note closed" || held > 10_000 {
			t.Errorf("%s; held %d", kinds, held)
		}
		lost, frames := uint64(0), 0
		for _, e := range d.Events {
			if e.Kind == store.Lost {
				info, err := store.DecodePayload[store.LostInfo](e)
				if err != nil || info.Reason != outage.ErrNoAnswer.Error() {
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
		if r.Lost() != sum.Lost {
			t.Errorf("the recorder counts %d lost, its summary %d", r.Lost(), sum.Lost)
		}
		if budget.Held() != 0 {
			t.Errorf("%d bytes are held at the end", budget.Held())
		}
	})
	storetest.Tell(t, "more to remember than there is memory", 1, "counted, in one gap; the memory is kept to")
}

// A disk that never answers again ends nobody's session, nor does it hold its end.
func TestStuckForEver(t *testing.T) {
	for _, face := range faces {
		t.Run(face.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &storetest.Disk{Wait: storetest.Nth(4, -1), Stuck: make(chan struct{})}
				r := begin(t, d)
				p := face.connect(t, r)
				for i := range 50 {
					p.ask(i)
				}
				p.quit()
				start := time.Now()
				sum := r.Close()
				if took := time.Since(start); took > 30*time.Second {
					t.Errorf("close took %v", took)
				}
				if sum.Lost == 0 || !errors.Is(sum.Err, outage.ErrNoAnswer) {
					t.Errorf("summary %+v", sum)
				}
				synctest.Wait()
				if n, kinds := frames(t, d); n != 2 || kinds != "opened" {
					t.Errorf("%d frames, %s", n, kinds)
				}
				close(d.Stuck)
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
				d := &storetest.Disk{Opens: opens}
				start := time.Now()
				r := begin(t, d)
				p := face.connect(t, r)
				for i := range 50 {
					p.ask(i)
				}
				if took := time.Since(start); took > outage.Bound {
					t.Errorf("%s: held up for %v", face.name, took)
				}
				p.quit()
				sum := r.Close()
				n, kinds := frames(t, d)
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
	for _, c := range []struct {
		disk   *storetest.Disk
		passes string
	}{
		{&storetest.Disk{From: 3}, "a\nb\n"},
		{&storetest.Disk{Wait: storetest.Nth(3, -1)}, "a\nb\n"},
		{&storetest.Disk{Opens: time.Hour}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := c.disk
			d.Stuck = make(chan struct{})
			told := error(nil)
			r := begin(t, d, recorder.Strict(), recorder.Trouble(func(err error) { told = err }))
			var out bytes.Buffer
			src := strings.NewReader("a\nb\nc\nd\n")
			info := r.Tap(transport.ClientToServer).Pass(&out, oneByOne{src})
			synctest.Wait()
			if info.By != "receiver" || out.String() != c.passes || told == nil {
				t.Errorf("passed on %q, %+v, told %v", &out, info, told)
			}
			if sum := r.Close(); sum.Err == nil {
				t.Errorf("summary %+v", sum)
			}
			close(d.Stuck)
			time.Sleep(d.Opens)
		})
	}
	storetest.Tell(t, "the same under --strict", 3, "nothing passes that is not recorded; the session ends")
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
				d := &storetest.Disk{Wait: func(int) time.Duration { return outage.Bound + 250*time.Millisecond }}
				r := begin(t, d, recorder.Holding(outage.NewBudget(2000)))
				p := face.connect(t, r)
				for i := range 1000 {
					p.ask(i)
				}
				p.quit()
				sum := r.Close()
				if n, kinds := frames(t, d); n != 1000 || sum.Lost != 0 || sum.Err != nil {
					t.Errorf("%d frames, %s, summary %+v", n, kinds, sum)
				}
			})
		})
	}
	storetest.Tell(t, "a disk that is slower than what passes", len(faces), "what finds no room waits for it; all of it is recorded")
}

// peers are a client and a server that answers, with a recorder between them.
type peers struct {
	t    *testing.T
	r    *recorder.Recorder
	ask  func(i int) (took time.Duration)
	quit func()
}

// byPass connects them through the taps of a stdio session.
func byPass(t *testing.T, r *recorder.Recorder) *peers {
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
func byConn(t *testing.T, r *recorder.Recorder) *peers {
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
	connect func(*testing.T, *recorder.Recorder) *peers
}{{"stdio", byPass}, {"in process", byConn}, {"over HTTP", byProxy}, {"in an HTTP client", byRoundTrip}}

// memoryServer answers without a network, which no bubble can wait for: every other time
// by an event stream.
type memoryServer struct{ asked int }

func (s *memoryServer) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	kind, body := "application/json", fmt.Sprintf(`"re: %s"`, bytes.Trim(b, `"`))
	if s.asked++; s.asked%2 == 0 {
		kind, body = "text/event-stream", "id: 1\ndata: "+body+"\n\n"
	}
	head := http.Header{"Content-Type": {kind}, "Content-Length": {fmt.Sprint(len(body))}}
	return &http.Response{StatusCode: http.StatusOK, Header: head, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

// byHTTP connects a client and a server by what sends a request through a tap.
func byHTTP(t *testing.T, r *recorder.Recorder, through func(*httptap.Tap) func(*http.Request) (string, error)) *peers {
	tap := httptap.New(httptap.Options{Path: "/mcp", Together: true, Open: func(store.Header) *recorder.Recorder { return r }})
	send := through(tap)
	return &peers{t, r, func(i int) time.Duration {
		start := time.Now()
		req := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(fmt.Sprintf(`"ask %d"`, i)))
		req.Header.Set("Content-Type", "application/json")
		got, err := send(req)
		if want := fmt.Sprintf(`"re: ask %d"`, i); err != nil || !strings.Contains(got, want) {
			t.Fatalf("ask %d: got %q, %v", i, got, err)
		}
		return time.Since(start)
	}, tap.Close}
}

// byProxy connects them through the reverse proxy.
func byProxy(t *testing.T, r *recorder.Recorder) *peers {
	return byHTTP(t, r, func(tap *httptap.Tap) func(*http.Request) (string, error) {
		target := &url.URL{Scheme: "http", Host: "server.invalid", Path: "/mcp"}
		proxy := tap.Proxy(httptap.ProxyOptions{Target: target, Transport: &memoryServer{}})
		return func(req *http.Request) (string, error) {
			w := httptest.NewRecorder()
			proxy.ServeHTTP(w, req)
			return w.Body.String(), nil
		}
	})
}

// byRoundTrip connects them through the client's transport.
func byRoundTrip(t *testing.T, r *recorder.Recorder) *peers {
	return byHTTP(t, r, func(tap *httptap.Tap) func(*http.Request) (string, error) {
		rt := tap.RoundTripper(&memoryServer{})
		return func(req *http.Request) (string, error) {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				return "", err
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			return string(b), err
		}
	})
}

// frames counts what is in the log, whose frames are whole and in order.
func frames(t *testing.T, d *storetest.Disk) (n int, kinds string) {
	t.Helper()
	for _, e := range d.Events {
		if e.Kind == store.Frame && e.Dir == transport.ClientToServer {
			n++
		}
		if e.Kind != store.Frame && e.Kind != store.EOF && e.Kind != store.HTTP {
			kinds += " " + string(e.Kind)
		}
	}
	return n, strings.TrimSpace(kinds)
}

// begin starts a recording on a disk.
func begin(t *testing.T, d *storetest.Disk, options ...recorder.Option) *recorder.Recorder {
	t.Helper()
	r, err := recorder.New(t.Context(), d, store.Header{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
