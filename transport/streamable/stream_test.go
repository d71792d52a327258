package streamable

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// What a response becomes, as its follower is told step by step.
func TestStreamSteps(t *testing.T) {
	const call, ping, note = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `{"jsonrpc":"2.0","method":"x"}`
	const answer, second, progress = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/progress"}`
	const refusal = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
	for _, c := range []struct {
		name, request string
		known         bool
		answer        Answer
		said          []string
		want          string
	}{
		{"an answer alone is JSON", call, false, Answer{}, []string{answer}, "json 0 " + answer},
		{"progress makes a stream", call, false, Answer{}, []string{progress, answer}, "head 0, event, event, end"},
		{"recorded as a stream", call, true, Answer{Form: StreamForm}, []string{answer}, "head 0, event, end"},
		{"and primed", call, true, Answer{Form: StreamForm, IDs: true, Primed: true, Retry: "5"}, []string{answer}, "head 0, primer, event, end"},
		{"an error with its status", call, true, Answer{Form: JSONForm, Status: 400}, []string{refusal}, "json 400 " + refusal},
		{"a notification", note, false, Answer{}, nil, "plain 202 "},
		{"a notification that was refused", note, true, Answer{Plain: true, Status: 400, Body: []byte("no")}, nil, "plain 400 no"},
		{"a request that was not heeded", call, true, Answer{Plain: true, Status: 404, Body: []byte("gone")}, nil, "plain 404 gone"},
		{"no message", "garbage", false, Answer{}, nil, "plain 400 " + refusal},
		{"no answer yet", call, false, Answer{}, nil, "wait"},
		{"a batch answered one by one", ping, false, Answer{}, []string{answer, second}, "head 0, event, event, end"},
		{"a batch answered as one", ping, false, Answer{}, []string{"[" + answer + "," + second + "]"}, "json 0 [" + answer + "," + second + "]"},
		{"cut before the answer", call, true, Answer{Form: StreamForm, IDs: true, Primed: true, Cut: true, CutAfter: 1, Broken: true}, []string{progress, answer}, "head 0, primer, event, break"},
		{"ended before the answer", call, true, Answer{Form: StreamForm, IDs: true, Cut: true}, []string{answer}, "head 0, end"},
		{"a second answer", call, true, Answer{Form: StreamForm, After: 1}, []string{answer}, "head 0, event, wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStream(7)
			s.ask(transport.Frame{Bytes: []byte(c.request)})
			if c.known {
				s.tell(c.answer)
			}
			for _, f := range c.said {
				s.add(transport.Frame{Bytes: []byte(f)})
			}
			s.settle()
			if got := followed(s); got != c.want {
				t.Errorf("got\n  %s, want\n  %s", got, c.want)
			}
		})
	}
}

// followed are the steps of the first follower.
func followed(s *httpStream) string {
	names := map[stepKind]string{stepWait: "wait", stepPlain: "plain", stepJSON: "json", stepHead: "head", stepEvent: "event", stepEnd: "end", stepBreak: "break", stepAbsent: "absent"}
	var list []string
	for begun, at := false, 0; ; {
		step := s.next(begun, false, at)
		text := names[step.kind]
		switch step.kind {
		case stepPlain, stepJSON:
			text = fmt.Sprintf("%s %d %s", text, step.answer.Status, step.event)
		case stepHead:
			begun, text = true, fmt.Sprintf("%s %d", text, step.answer.Status)
		case stepEvent:
			if at++; strings.HasSuffix(string(step.event), "\ndata: \n\n") {
				text = "primer"
			}
		}
		if list = append(list, text); step.kind != stepHead && step.kind != stepEvent {
			return strings.Join(list, ", ")
		}
	}
}
