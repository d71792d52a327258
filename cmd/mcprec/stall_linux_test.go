package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/procfs"
)

// infosOf returns the payloads of the events of a kind, in order.
func infosOf[T store.StalledInfo | store.EOFInfo | store.ExitInfo](t *testing.T, log []store.Event, kind store.Kind, dir transport.Direction) (infos []T) {
	t.Helper()
	for _, e := range log {
		if e.Kind != kind || e.Dir != dir {
			continue
		}
		info, err := store.DecodePayload[T](e)
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	return infos
}

// TestProcesses holds that the header names the processes, in the store, masked, and in a fixture.
func TestProcesses(t *testing.T) {
	home, out := t.TempDir(), filepath.Join(t.TempDir(), "s.jsonl")
	c := newClient(t, os.Stderr, "record", "--store", home, "--mask", "-o", out, "--", "fakeserver", "echo")
	if err := c.ping(1); err != nil {
		t.Fatal(err)
	}
	h, err := store.ParseHeader(sessions(t, home)[0][0].Payload)
	if err != nil || h.Processes == nil {
		t.Fatalf("%+v, %v", h, err)
	}
	if me := procfs.Identify(os.Getpid()); h.Processes.Client != me || h.Processes.Recorder.PID != c.cmd.Process.Pid {
		t.Errorf("%+v of recorder %d and client %+v", h.Processes, c.cmd.Process.Pid, me)
	}
	if p := procfs.Of(h.Processes.Server); p.Name != "fakeserver" || p.State == procfs.Gone || p.State == procfs.Unknown {
		t.Errorf("the server is %+v", p)
	}
	if want := []string{"c2s", "s2c"}; !slices.Equal(h.Processes.Watched, want) {
		t.Errorf("watched %q, want %q", h.Processes.Watched, want)
	}
	c.close()
	if p := procfs.Of(h.Processes.Server); p.State != procfs.Gone {
		t.Errorf("the server is %+v", p)
	}
	events, err := jsonl.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := store.ParseHeader(events[0].Payload); err != nil || !reflect.DeepEqual(kept.Processes, h.Processes) {
		t.Errorf("the fixture has %+v, %v; want %+v", kept.Processes, err, h.Processes)
	}
}

// awaitStall waits until the log of the only session says of a receiver what fits, and returns
// that. It may say something else before: on a busy machine a receiver that is to read a little
// comes to it late.
func awaitStall(t *testing.T, home string, dir transport.Direction, fits func(store.StalledInfo) bool) (found store.StalledInfo) {
	t.Helper()
	awaitEventThat(t, home, func(e store.Event) bool {
		if e.Kind != store.Stalled || e.Dir != dir {
			return false
		}
		info, err := store.DecodePayload[store.StalledInfo](e)
		if err != nil {
			t.Fatal(err)
		}
		found = info
		return fits(info)
	})
	return found
}

// TestServerReadsNothing holds that the log of a live session says so of a server that has not
// read a request, and at its end how much of its input it left.
func TestServerReadsNothing(t *testing.T) {
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "takes", "5")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	io.WriteString(c.in, ping)
	size := int64(len(ping))
	stalled := awaitStall(t, home, transport.ClientToServer, func(info store.StalledInfo) bool { return info.Unread < size && !info.Over })
	if want := (store.StalledInfo{Read: size, Passed: size, Unread: size - 5, For: stalled.For}); stalled != want || stalled.For < recorder.StallThreshold {
		t.Errorf("got %+v, want %+v", stalled, want)
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	c.diesOf(syscall.SIGTERM)
	log := sessions(t, home)[0]
	if all := infosOf[store.StalledInfo](t, log, store.Stalled, transport.ClientToServer); all[len(all)-1] != stalled {
		t.Errorf("after %+v the log says %+v", stalled, all)
	}
	if exit := infosOf[store.ExitInfo](t, log, store.Exited, transport.NoDirection)[0]; exit.Unread != size-5 {
		t.Errorf("exit %+v", exit)
	}
}

// TestServerStopsInAFrame holds that the log says where a server stopped reading a valid request:
// while its write blocks, and at its end.
func TestServerStopsInAFrame(t *testing.T) {
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "takes", "5000")
	small := `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	large := fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"x","params":"%s"}`+"\n", bytes.Repeat([]byte("x"), 1<<20))
	go io.WriteString(c.in, small+large)
	stalled := awaitStall(t, home, transport.ClientToServer, func(info store.StalledInfo) bool { return info.Blocked && info.Passed > info.Unread })
	if stalled.Passed-stalled.Unread != 5000 || stalled.Read <= stalled.Passed {
		t.Errorf("while it hangs: %+v", stalled)
	}
	live := sessions(t, home)[0]
	var offsets store.FrameOffsets
	for _, e := range live {
		offsets.Apply(e)
	}
	if seq, before, _ := offsets.At(transport.ClientToServer, 5000); seq != 0 || before != 5000-int64(len(small)) {
		t.Errorf("the server has read %d bytes of event %d", before, seq)
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	c.diesOf(syscall.SIGTERM)
	ends := infosOf[store.EOFInfo](t, sessions(t, home)[0], store.EOF, transport.ClientToServer)
	if len(ends) != 1 || ends[0].By != "receiver" || ends[0].Read != stalled.Read || ends[0].Passed != stalled.Passed {
		t.Errorf("at the end: %+v; while it hung: %+v", ends, stalled)
	}
}

// TestClientReadsNothing holds that the log of a live session says so of a client that does not
// read, and that its write is logged as blocked when it is taken.
func TestClientReadsNothing(t *testing.T) {
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "flood", "5000")
	stalled := awaitStall(t, home, transport.ServerToClient, func(info store.StalledInfo) bool { return info.Blocked })
	if stalled.Read <= stalled.Passed || stalled.Unread < stalled.Passed {
		t.Errorf("%+v", stalled)
	}
	c.in.Close()
	if n, err := io.Copy(io.Discard, c.out); err != nil || n == 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
	c.exits(0)
	log := sessions(t, home)[0]
	at := slices.IndexFunc(log, func(e store.Event) bool { return e.Kind == store.Stalled })
	if !slices.ContainsFunc(log[at:], func(e store.Event) bool { return e.Kind == store.Delivered && e.Dir == transport.ServerToClient }) {
		t.Error("nothing says that the write was taken")
	}
}

// TestHalfABody holds that a request over HTTP whose body has not come whole hides nothing
// behind it from those who look at the live session.
func TestHalfABody(t *testing.T) {
	home := t.TempDir()
	r := recordRemote(t, os.Stderr, home, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, transport.Member(b, "id"))
	})
	body, rest := io.Pipe()
	asked := make(chan error, 1)
	go func() {
		req, err := http.NewRequest(http.MethodPost, r.url, body)
		if err == nil {
			req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			_, err = http.DefaultTransport.RoundTrip(req)
		}
		asked <- err
	}()
	half := `{"jsonrpc":"2.0","id":"half","meth`
	io.WriteString(rest, half)
	for shown := ""; !strings.Contains(shown, "half"); { // until the recorder has it
		out, _, _ := inProcess(t, nil, "show", "--store", home) // there may be no session yet
		shown = string(out)
	}
	if err := r.ping(2); err != nil {
		t.Fatal(err)
	}
	open := fmt.Sprintf(`a message whose rest has not come: %s (%d B)`, half, len(half))
	for _, command := range [][]string{{"show"}, {"show", "--last", "10"}} {
		if got := mcprec(t, append(command, "--store", home)...); !strings.Contains(got, open) || !strings.Contains(got, "result of ping id 2") {
			t.Errorf("%s says\n%s", command, got)
		}
	}
	for waits := ""; !strings.Contains(waits, "for the rest of a POST of the client"); {
		out, _, _ := inProcess(t, nil, "why", "--store", home, "--after", "1ms")
		waits = string(out)
	}
	if got := mcprec(t, "check", "--store", home, "--fail-on", "never"); strings.Contains(got, "JSON-RPC") || strings.Contains(got, "without an answer") {
		t.Errorf("check says\n%s", got)
	}
	io.WriteString(rest, `od":"ping"}`)
	rest.Close()
	if err := <-asked; err != nil {
		t.Error(err)
	}
	r.close()
	if got := mcprec(t, "show", "--store", home); strings.Contains(got, "has not come") || !strings.Contains(got, `result of ping id "half"`) {
		t.Errorf("after its end show says\n%s", got)
	}
}

// TestShortAnswer holds that a live session tells an answer whose body is shorter than announced.
func TestShortAnswer(t *testing.T) {
	home := t.TempDir()
	r := recordRemote(t, os.Stderr, home, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "50")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	asked := make(chan error, 1)
	go func() { asked <- r.ping(1) }()
	for said := ""; !strings.Contains(said, "its body is 14 bytes short of its Content-Length of 50"); {
		out, _, _ := inProcess(t, nil, "why", "--store", home, "--after", "1ms")
		said = string(out)
	}
	r.close()
	if err := <-asked; err == nil {
		t.Error("the client took the answer")
	}
}

// TestTargetInterrupted holds that a signal at a recorder of HTTP stands in the log before what
// it cuts off.
func TestTargetInterrupted(t *testing.T) {
	home := t.TempDir()
	r := recordRemote(t, os.Stderr, home, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	asked := make(chan error, 1)
	go func() { asked <- r.ping(1) }()
	awaitEvent(t, home, store.Frame)
	r.close()
	if err := <-asked; err == nil {
		t.Error("the request was answered")
	}
	var kinds []string
	for _, e := range sessions(t, home)[0] {
		kinds = append(kinds, string(e.Kind))
		if e.Kind == store.Signal && string(e.Payload) != `{"signal":"interrupt"}` {
			t.Errorf("%s", e.Payload)
		}
	}
	if got := strings.Join(kinds, " "); got != "opened http frame signal http closed" {
		t.Errorf("events: %s", got)
	}
}
