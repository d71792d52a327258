package standin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// recorded reads a session from lines: > what the client said, < what the server did.
func recorded(t testing.TB, lines string) []store.Event {
	t.Helper()
	var text strings.Builder
	text.WriteString(`{"mcprec":1}` + "\n")
	for line := range strings.Lines(lines) {
		dir := map[byte]string{'>': "c2s", '<': "s2c"}[line[0]]
		text.WriteString(`{"dir":"` + dir + `","text":` + quoted(strings.TrimSpace(line[1:])) + "}\n")
	}
	return decodeText(t, text.String())
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// dialogue gives each line to an end and returns what it says to it, in one line.
func dialogue(start []transport.Frame, receive func(transport.Frame) []transport.Frame, lines ...string) string {
	say := func(frames []transport.Frame) string {
		var texts []string
		for _, f := range frames {
			texts = append(texts, string(f.Bytes))
		}
		return strings.Join(texts, " ")
	}
	out := []string{say(start)}
	for _, line := range lines {
		out = append(out, say(receive(transport.Frame{Bytes: []byte(line)})))
	}
	return strings.Join(out, " | ")
}

const broken = `> {broken
< {"error":{"code":-32700},"id":null}
> {"id":1,"method":"ping"}
< {"id":1,"result":{}}`

// TestNoise: the refusal of what is no message goes to a client that says such a
// thing, and holds up nothing for one that does not.
func TestNoise(t *testing.T) {
	for _, c := range []struct {
		live []string
		want string
	}{
		{[]string{`{wrong`, `{"id":7,"method":"ping"}`}, ` | {"error":{"code":-32700},"id":null} | {"id":7,"result":{}}`},
		{[]string{`{"id":7,"method":"ping"}`, `{wrong`}, ` | {"id":7,"result":{}} | `},
		{[]string{``, `{wrong`, `{wrong`, `{"id":7,"method":"ping"}`}, ` |  | {"error":{"code":-32700},"id":null} |  | {"id":7,"result":{}}`},
	} {
		p := standin.NewPlayer(recorded(t, broken), match.Rules{})
		if got := dialogue(p.Start(), p.Receive, c.live...); got != c.want {
			t.Errorf("%q\ngot  %s\nwant %s", c.live, got, c.want)
		}
		for _, f := range p.Close() {
			t.Errorf("%q: %v", c.live, f)
		}
	}
	d := standin.NewDriver(recorded(t, broken), match.Rules{})
	got := dialogue(d.Start(), d.Receive, `{"error":{"code":-32700},"id":null}`, `{"id":1,"result":{}}`)
	if want := `{broken | {"id":1,"method":"ping"} | `; got != want || len(d.Close()) > 0 {
		t.Errorf("the client: got %s, %v, want %s", got, d.Close(), want)
	}
	d = standin.NewDriver(recorded(t, broken), match.Rules{})
	if got := dialogue(d.Start(), d.Receive); got != `{broken` || len(d.GiveUpWaiting()) != 1 {
		t.Errorf("the client, not refused: got %s", got)
	}
}

// TestServerNoise: a server that says more that is no message than the recorded one
// is told, once.
func TestServerNoise(t *testing.T) {
	const quiet = "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}"
	for _, c := range []struct {
		recorded string
		live     []string
		want     string
	}{
		{quiet, []string{`debug: on`, ``, "\xff", `[1]`, `{"id":1,"result":{}}`}, "[extra: 3 lines of the server, no JSON-RPC message each, passed over; the first: debug: on match: the answer to ping]"},
		{quiet, []string{`{"id":1,"result":{}}`, `[]`}, "[match: the answer to ping extra: 1 line of the server, no JSON-RPC message each, passed over; the first: []]"},
		{quiet, []string{``, `{"id":1,"result":{}}`}, "[match: the answer to ping]"},
		{"< npm start\n" + quiet, []string{`pnpm start`, `{"id":1,"result":{}}`}, "[match: the answer to ping]"},
	} {
		d := standin.NewDriver(recorded(t, c.recorded), match.Rules{})
		dialogue(d.Start(), d.Receive, c.live...)
		if got := fmt.Sprint(d.Verdicts()); got != c.want {
			t.Errorf("%q\ngot  %s\nwant %s", c.live, got, c.want)
		}
	}
}

// TestStrayAnswers: what answers nothing is said, and expected, as it was recorded.
func TestStrayAnswers(t *testing.T) {
	events := recorded(t, `> {"id":999,"result":{}}
> {"id":1,"method":"ping"}
< {"id":1,"result":{}}
< {"id":1,"result":{}}`)
	p := standin.NewPlayer(events, match.Rules{})
	got := dialogue(p.Start(), p.Receive, `{"id":999,"result":{}}`, `{"id":1,"method":"ping"}`, `{"id":5,"result":{}}`)
	if want := ` |  | {"id":1,"result":{}} {"id":1,"result":{}} | `; got != want {
		t.Errorf("the server: got %s, want %s", got, want)
	}
	if f := p.Close(); len(f) != 1 || !strings.Contains(f[0].Text, "an answer with id 5,") {
		t.Errorf("the server finds %v", f)
	}
	d := standin.NewDriver(events, match.Rules{})
	dialogue(d.Start(), d.Receive, `{"id":1,"result":{}}`)
	if f := d.Close(); len(f) != 1 || f[0].String() != "missing: #5, an answer with id 1, did not come" {
		t.Errorf("the client finds %v", f)
	}
	dialogue(nil, d.Receive, `{"id":1,"result":{}}`, `{"id":1,"result":{}}`)
	if f := d.Close(); len(f) != 1 || !strings.Contains(f[0].Text, "an answer with id 1, which no open request of the client has") {
		t.Errorf("the client finds %v", f)
	}
}

// TestRespelledIDs: peers that read ids as a number answer 1e2 with 100.
func TestRespelledIDs(t *testing.T) {
	events := recorded(t, `> {"id":1e2,"method":"a"}
> {"id":9007199254740993,"method":"b"}
< {"id":100,"result":{}}
< {"id":9007199254740993.0,"result":{}}
< {"id":5e-1,"method":"roots/list"}
> {"id":0.5,"result":{}}`)
	p := standin.NewPlayer(events, match.Rules{})
	got := dialogue(p.Start(), p.Receive, `{"id":7,"method":"a"}`, `{"id":"x","method":"b"}`, `{"id":0.5,"result":{}}`)
	if want := ` |  | {"id":7,"result":{}} {"id":"x","result":{}} {"id":5e-1,"method":"roots/list"} | `; got != want || len(p.Close()) > 0 {
		t.Errorf("the server: got %s, %v, want %s", got, p.Close(), want)
	}
	d := standin.NewDriver(events, match.Rules{})
	got = dialogue(d.Start(), d.Receive, `{"id":100,"result":{}}`, `{"id":9007199254740993,"result":{}}`, `{"id":8,"method":"roots/list"}`)
	if want := `{"id":1e2,"method":"a"} {"id":9007199254740993,"method":"b"} |  |  | {"id":8,"result":{}}`; got != want || len(d.Close()) > 0 {
		t.Errorf("the client: got %s, %v, want %s", got, d.Close(), want)
	}
	two := recorded(t, `> {"id":1,"method":"a"}
> {"id":"1","method":"b"}
< {"id":"1","result":{}}
< {"id":1.0,"result":{}}`)
	p = standin.NewPlayer(two, match.Rules{})
	if got := dialogue(p.Start(), p.Receive, `{"id":8,"method":"a"}`, `{"id":9,"method":"b"}`); got != ` |  | {"id":9,"result":{}} {"id":8,"result":{}}` {
		t.Errorf("a number for a string: %s", got)
	}
}

// TestAnswersKeepTheirOrder: what a client may say at once, answers and requests, it
// says in the recorded order, whichever way its questions come.
func TestAnswersKeepTheirOrder(t *testing.T) {
	events := recorded(t, `< {"id":1,"method":"roots/list"}
< {"id":2,"method":"sampling/createMessage"}
> {"id":2,"result":{}}
> {"id":1,"result":{}}
> {"id":3,"method":"ping"}
< {"id":3,"result":{}}`)
	d := standin.NewDriver(events, match.Rules{})
	got := dialogue(d.Start(), d.Receive, `{"id":"a","method":"roots/list"}`, `{"id":"b","method":"sampling/createMessage"}`, `{"id":3,"result":{}}`)
	if want := ` |  | {"id":"b","result":{}} {"id":"a","result":{}} {"id":3,"method":"ping"} | `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestQuestionsWithOneID: an answer is for the first open question with its id, as check
// reads it; one that was never answered is waited for by nothing.
func TestQuestionsWithOneID(t *testing.T) {
	events := recorded(t, `< {"id":1,"method":"elicitation/create"}
> {"id":5,"method":"tools/call"}
< {"id":1,"method":"elicitation/create"}
> {"id":1,"result":{}}
< {"id":5,"result":{}}`)
	p := standin.NewPlayer(events, match.Rules{})
	got := dialogue(p.Start(), p.Receive, `{"id":8,"method":"tools/call"}`, `{"id":1,"result":{}}`)
	if want := `{"id":1,"method":"elicitation/create"} | {"id":1,"method":"elicitation/create"} | {"id":8,"result":{}}`; got != want || len(p.Close()) > 0 {
		t.Errorf("got %s, %v, want %s", got, p.Close(), want)
	}
}
