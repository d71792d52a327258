package standin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// behind is a live server for a test: what it says to each line it hears.
type behind struct {
	says  map[string]string // lines, one after another; "." ends it
	heard []string
	err   error
}

// Connect implements [transport.Transport].
func (b *behind) Connect(ctx context.Context) (transport.Conn, error) {
	if b.err != nil {
		return nil, b.err
	}
	pipe := transport.NewPipe(0, 0, nil)
	go func() {
		server := pipe.Server()
		defer server.Close()
		for {
			f, err := server.Read(ctx)
			if err != nil {
				return
			}
			b.heard = append(b.heard, string(f.Bytes))
			for line := range strings.Lines(b.says[string(f.Bytes)]) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				if line == "." {
					return
				}
				if err := server.Write(ctx, transport.Frame{Bytes: []byte(line)}); err != nil {
					return
				}
			}
		}
	}()
	return pipe.Client(), nil
}

// consult serves a session with a live server behind it; the client says its lines
// and reads a frame after each for every "?" in front of it.
func consult(t *testing.T, recorded string, server *behind, lines ...string) (got []string, said []string, live *Live) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		conn, far := newWire()
		live = &Live{Server: server}
		done := make(chan error, 1)
		go func() {
			done <- Serve(t.Context(), far, NewPlayer(recordPlaybook(recorded), match.Rules{}), ServeOptions{Live: live, Say: func(s string) { said = append(said, s) }})
		}()
		for _, line := range lines {
			text := strings.TrimLeft(line, "? ")
			if err := conn.Write(t.Context(), transport.Frame{Bytes: []byte(text)}); err != nil {
				t.Fatal(err)
			}
			for range strings.Count(line[:len(line)-len(text)], "?") {
				f, err := conn.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(f.Bytes))
			}
		}
		synctest.Wait()
		conn.end()
		for err, ok := error(nil), false; !ok; {
			select {
			case f := <-conn.in:
				got = append(got, string(f.Bytes))
			case err = <-done:
				if ok = true; err != nil {
					t.Error(err)
				}
			}
		}
	})
	return got, said, live
}

const handshaken = `
	> {"id":1,"method":"initialize","params":{}}
	< {"id":1,"result":{"recorded":true}}
	> {"method":"notifications/initialized"}
	> {"id":2,"method":"tools/call","params":{"name":"ask"}}
	< {"id":1,"method":"sampling/createMessage","params":{}}
	> {"id":1,"result":{"recorded":true}}
	< {"id":2,"result":"asked"}`

// TestLive asks what is recorded and what is not, with a request of the live server
// under the id of a recorded one.
func TestLive(t *testing.T) {
	server := &behind{says: map[string]string{
		`{"id":"i","method":"initialize"}`: `{"id":"i","result":{"live":true}}`,
		`{"id":"n","method":"new"}`: `
			{"method":"notifications/message"}
			{"id":1,"method":"roots/list"}`,
		`{"id":1,"result":{"roots":[]}}`: `{"id":"n","result":"live"}`,
	}}
	got, said, live := consult(t, handshaken, server,
		`? {"id":"i","method":"initialize"}`,
		`{"method":"notifications/initialized"}`,
		`?? {"id":"n","method":"new"}`,
		`? {"id":"c","method":"tools/call","params":{"name":"ask"}}`,
		`? {"id":1,"result":{"sampled":true}}`,
		`? {"id":"mcprec-live-1","result":{"roots":[]}}`)
	heard := strings.Join(server.heard, "\n")
	if want := `{"id":"i","method":"initialize"}
{"method":"notifications/initialized"}
{"id":"n","method":"new"}
{"id":1,"result":{"roots":[]}}`; heard != want {
		t.Errorf("the server heard\n%s", heard)
	}
	if want := `{"id":"i","result":{"recorded":true}}
{"method":"notifications/message"}
{"id":"mcprec-live-1","method":"roots/list"}
{"id":1,"method":"sampling/createMessage","params":{}}
{"id":"c","result":"asked"}
{"id":"n","result":"live"}`; strings.Join(got, "\n") != want {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
	if added := live.Added(); len(added) != 5 || live.Err() != nil || said != nil {
		t.Errorf("%d added, %v, %q", len(added), live.Err(), said)
	}
}

// TestLiveDies holds that a request which the live server leaves unanswered gets
// an error, that so do later ones, and that none of them is kept.
func TestLiveDies(t *testing.T) {
	server := &behind{says: map[string]string{`{"id":"b","method":"new"}`: "."}}
	got, said, live := consult(t, handshaken, server, `? {"id":"b","method":"new"}`, `? {"id":"c","method":"new"}`)
	for i, id := range []string{"b", "c"} {
		if want := `{"jsonrpc":"2.0","id":"` + id + `","error":{"code":-32010,"message":"mcprec: not recorded, and the live server has ended"}}`; got[i] != want {
			t.Errorf("got %s", got[i])
		}
	}
	if len(live.Added()) != 0 || len(said) != 1 || said[0] != "the live server has ended" {
		t.Errorf("%d added, said %q", len(live.Added()), said)
	}
}

func TestLiveCannotConnect(t *testing.T) {
	got, said, live := consult(t, handshaken, &behind{err: io.ErrNoProgress}, `? {"id":"b","method":"new"}`)
	if !errors.Is(live.Err(), io.ErrNoProgress) || len(got) != 1 || !strings.Contains(got[0], "the live server cannot be asked: multiple Read calls") || said != nil {
		t.Errorf("got %q, said %q, %v", got, said, live.Err())
	}
}

// TestLiveNotifications holds that what the client says of a request of one of the
// two goes to that one.
func TestLiveNotifications(t *testing.T) {
	server := &behind{says: map[string]string{`{"id":1,"method":"new"}`: `{"id":"s","method":"sampling/createMessage","params":{"_meta":{"progressToken":5}}}`}}
	_, _, live := consult(t, handshaken, server,
		`? {"id":1,"method":"new"}`,
		`{"method":"notifications/progress","params":{"progressToken":5}}`,
		`{"method":"notifications/progress","params":{"progressToken":6}}`,
		`{"method":"notifications/cancelled","params":{"requestId":2}}`,
		`{"method":"notifications/cancelled","params":{"requestId":1}}`)
	want := `{"id":1,"method":"new"}
{"method":"notifications/progress","params":{"progressToken":5}}
{"method":"notifications/cancelled","params":{"requestId":1}}`
	if heard := strings.Join(server.heard, "\n"); heard != want {
		t.Errorf("the server heard\n%s", heard)
	}
	if len(live.Added()) != 4 { // who cancels waits for no answer
		t.Errorf("%d added", len(live.Added()))
	}
}

// TestLiveCancels holds that the live server may call off its own request, which the
// client knows under another id.
func TestLiveCancels(t *testing.T) {
	server := &behind{says: map[string]string{`{"id":"n","method":"new"}`: `
		{"id":1,"method":"roots/list"}
		{"method":"notifications/cancelled","params":{"requestId":1}}`}}
	got, _, _ := consult(t, handshaken, server, `?? {"id":"n","method":"new"}`)
	want := `{"id":"mcprec-live-1","method":"roots/list"}
{"method":"notifications/cancelled","params":{"requestId":"mcprec-live-1"}}`
	if heard := strings.Join(got[:2], "\n"); heard != want {
		t.Errorf("the client heard\n%s", heard)
	}
}

// TestLiveRedacted holds that what stands for a secret in the recording, and came to
// the client with a recorded answer, does not go on to the live server.
func TestLiveRedacted(t *testing.T) {
	recorded := `
		> {"id":1,"method":"login"}
		< {"id":1,"result":{"token":"[redacted:0123456789abcdef]"}}`
	server := &behind{says: map[string]string{`{"id":4,"method":"new"}`: `{"id":9,"method":"ask"}`}}
	got, said, live := consult(t, recorded, server,
		`? {"id":2,"method":"login"}`,
		`? {"id":3,"method":"new","params":{"auth":"Bearer [redacted:0123456789abcdef]"}}`,
		`? {"id":4,"method":"new"}`,
		`{"id":9,"result":"[redacted:0123456789abcdef]"}`)
	text := `holds [redacted:0123456789abcdef], which stands for a secret: it was not sent to the live server`
	if want := `{"jsonrpc":"2.0","id":3,"error":{"code":-32010,"message":"mcprec: new ` + text + `"}}`; got[1] != want {
		t.Errorf("the client heard\n%s", got[1])
	}
	heard := strings.Join(server.heard, "\n")
	if want := `{"id":4,"method":"new"}
{"jsonrpc":"2.0","id":9,"error":{"code":-32010,"message":"mcprec: an answer ` + text + `"}}`; heard != want {
		t.Errorf("the server heard\n%s", heard)
	}
	if len(live.Added()) != 2 || len(said) != 2 {
		t.Errorf("%d added, said %q", len(live.Added()), said)
	}
}
