package standin

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// looseHalf is what Player and Driver have in common when they are loosened.
type looseHalf interface {
	livePart
	AllowReorder()
	Wrote(n int) []transport.Frame
	Place(n int) (place, first int)
	Waiting() bool
	Close() []match.StepVerdict
}

// loosened plays the other end's frames to a loosened half, which may send the next
// ones when the number of frames returned so far were written, and returns what it
// sent, in that order.
func loosened(h looseHalf, live []string) []string {
	h.AllowReorder()
	var sent []string
	wrote := 0
	take := func(frames []transport.Frame) {
		for _, f := range frames {
			sent = append(sent, string(f.Bytes))
		}
	}
	take(h.Start())
	for _, text := range live {
		for ; wrote < len(sent); wrote++ {
			take(h.Wrote(wrote))
		}
		take(h.Receive(transport.Frame{Bytes: []byte(text)}))
	}
	for ; wrote < len(sent); wrote++ {
		take(h.Wrote(wrote))
		h.Place(wrote)
	}
	for n := 0; h.Waiting() && n < 1000; n++ {
		take(h.GiveUpWaiting())
	}
	return sent
}

// What is not of one call, one token or one task comes as soon as it may; what is
// keeps its order.
func TestLoosenedPlayer(t *testing.T) {
	const recorded = `
		> {"id":0,"method":"initialize"}
		< {"id":0,"result":{}}
		> {"method":"notifications/initialized"}
		> {"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}
		< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
		< {"id":7,"method":"roots/list"}
		> {"id":7,"result":[]}
		< {"id":1,"result":"a"}
		< {"method":"notifications/tools/list_changed"}
		> {"id":2,"method":"ping"}
		< {"id":2,"result":{}}`
	p := NewPlayer(recordPlaybook(recorded), match.Rules{})
	p.AllowReorder()
	say := func(text string) (got []string) {
		for _, f := range p.Receive(transport.Frame{Bytes: []byte(text)}) {
			got = append(got, string(f.Bytes))
		}
		return got
	}
	wrote := 0
	written := func() (got []string) {
		for _, f := range p.Wrote(wrote) {
			got = append(got, string(f.Bytes))
		}
		wrote++
		return got
	}
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	expect("initialize", say(`{"id":0,"method":"initialize"}`), `{"id":0,"result":{}}`)
	expect("its answer written", written())
	expect("initialized", say(`{"method":"notifications/initialized"}`), `{"method":"notifications/tools/list_changed"}`)
	expect("a call", say(`{"id":5,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":9}}}`),
		`{"method":"notifications/progress","params":{"progressToken":9,"progress":1}}`, `{"id":7,"method":"roots/list"}`)
	expect("the notification written", written())
	expect("the progress written", written())
	expect("the question written", written())
	expect("a ping beside it", say(`{"id":6,"method":"ping"}`), `{"id":6,"result":{}}`)
	expect("the question answered", say(`{"id":7,"result":[]}`), `{"id":5,"result":"a"}`)
	if f := p.Close(); len(f) > 0 {
		t.Errorf("findings %v", f)
	}
}

// Of equal requests in any order the one with the same id is meant, until the live client has used an id otherwise: a ping
// that was not recorded moves all that come.
func TestReorderedIDs(t *testing.T) {
	const recorded = `
		> {"id":1,"method":"tools/list"}
		> {"id":2,"method":"tools/list"}
		< {"id":1,"result":"first"}
		< {"id":2,"result":"second"}`
	for live, want := range map[string]string{
		`{"id":2,"method":"tools/list"}`: `{"id":2,"result":"second"}`,
		`{"id":1,"method":"ping"}
		{"id":2,"method":"tools/list"}`: `{"id":2,"result":"first"}`,
	} {
		p := NewPlayer(recordPlaybook(recorded), match.Rules{})
		p.AllowReorder()
		var said transport.Frame
		for line := range strings.Lines(live) {
			for _, said = range p.Receive(transport.Frame{Bytes: []byte(strings.TrimSpace(line))}) {
			}
		}
		if string(said.Bytes) != want {
			t.Errorf("%s: got %s, want %s", live, said.Bytes, want)
		}
	}
}

// A question to a model is asked within a call, and so it waits for the calls that were open when it was recorded.
func TestReorderedQuestion(t *testing.T) {
	p := NewPlayer(recordPlaybook(`
		> {"id":1,"method":"ping"}
		< {"id":1,"result":{}}
		> {"id":2,"method":"tools/call","params":{"name":"a"}}
		> {"id":3,"method":"tools/call","params":{"name":"b"}}
		< {"id":7,"method":"sampling/createMessage"}
		> {"id":7,"result":{}}
		< {"id":2,"result":"a"}
		< {"id":3,"result":"b"}`), match.Rules{})
	p.AllowReorder()
	asked := 0
	for i, line := range []string{`{"id":1,"method":"ping"}`, `{"id":2,"method":"tools/call","params":{"name":"a"}}`, `{"id":3,"method":"tools/call","params":{"name":"b"}}`} {
		for _, f := range p.Receive(transport.Frame{Bytes: []byte(line)}) {
			if strings.Contains(string(f.Bytes), "sampling/createMessage") {
				asked = i + 1
			}
		}
	}
	if asked != 3 {
		t.Errorf("the question came behind message %d of the client, want 3", asked)
	}
}

// A cancellation that is known takes back all frames of the subscription that are held,
// those too that wait for another frame taken back.
func TestReorderedCancellation(t *testing.T) {
	const updated = `{"method":"notifications/resources/updated","params":{"uri":"a","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`
	p := NewPlayer(recordPlaybook(`
		> {"id":1,"method":"subscriptions/listen"}
		< `+updated+`
		< `+updated+`
		< `+updated+`
		> {"method":"notifications/cancelled","params":{"requestId":1}}
		> {"id":2,"method":"ping"}
		< {"id":2,"result":{}}`), match.Rules{})
	p.AllowReorder()
	if sent := p.Receive(transport.Frame{Bytes: []byte(`{"id":1,"method":"subscriptions/listen"}`)}); len(sent) != 1 {
		t.Fatalf("before the first update is written, %d are sent", len(sent))
	}
	if sent := p.Receive(transport.Frame{Bytes: []byte(`{"method":"notifications/cancelled","params":{"requestId":1}}`)}); len(sent) != 0 {
		t.Errorf("after the cancellation: %s", sent[0].Bytes)
	}
}

// FuzzLoosened: whatever was recorded and whatever is said, both halves come to an
// end, and know each frame that they have returned.
func FuzzLoosened(f *testing.F) {
	for _, text := range []string{twoCalls, withProgress, atOnce, withSampling, paged, stated} {
		f.Add(text, text)
		f.Add(text, strings.ReplaceAll(text, `"id":`, `"id":1`))
	}
	f.Fuzz(func(t *testing.T, recorded, live string) {
		said := map[string][]string{}
		for line := range strings.Lines(live) {
			mark, frame, _ := strings.Cut(strings.TrimSpace(line), " ")
			said[mark] = append(said[mark], frame)
		}
		events := recordPlaybook(recorded)
		p, d := NewPlayer(events, match.Rules{}), NewDriver(events, match.Rules{})
		if sent := loosened(p, said[">"]); len(sent) != len(p.out) {
			t.Errorf("the player knows %d messages of %d", len(p.out), len(sent))
		}
		if sent := loosened(d, said["<"]); len(sent) != len(d.out) {
			t.Errorf("the driver knows %d messages of %d", len(d.out), len(sent))
		}
		if p.Waiting() || d.Waiting() {
			t.Error("waiting for ever")
		}
		p.Close()
		d.Close()
		for _, prepare := range []func(*Driver){func(*Driver) {}, (*Driver).OneByOne, func(d *Driver) { d.OneByOne() }} {
			strict := NewDriver(events, match.Rules{})
			prepare(strict)
			converse(strict, live, "<", ">")
			for n := 0; strict.Waiting(); n++ {
				if strict.GiveUpWaiting(); n > 2*len(events) { // each line is held twice at most
					t.Fatal("relenting for ever")
				}
			}
			strict.Pending()
			strict.Verdicts()
		}
	})
}
