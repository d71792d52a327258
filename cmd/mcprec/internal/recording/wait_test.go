package recording

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/workload"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// madeOf returns a session with these calls, "!" behind those that are answered and "?" behind those that are answered when all
// others are.
func madeOf(calls string) external.Made {
	made := external.Made{Fault: &external.Finding{Kind: external.Hang, Certain: true}}
	say := func(dir transport.Direction, format string, args ...any) {
		made.Events = append(made.Events, store.Event{Seq: uint64(len(made.Events) + 1), Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, format, args...)})
	}
	late := ""
	for id, call := range strings.Fields(calls) {
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id)
		say(transport.ClientToServer, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, strings.TrimRight(call, "!?"))
		switch {
		case strings.HasSuffix(call, "!"):
			say(transport.ServerToClient, "%s", answer)
		case strings.HasSuffix(call, "?"):
			late = answer
		}
	}
	if late != "" {
		say(transport.ServerToClient, "%s", late)
		made.Fault = nil
	}
	return made
}

// TestLearn holds what is learnt of a call without an answer, and that a session is the one without it again if nothing is.
func TestLearn(t *testing.T) {
	const plain = "look! wait open! shut!"
	for _, row := range []struct {
		name, trial string // the session with the call at its end
		saysItWaits bool
		want        string // what the session is made again with; "": it is the one without the answer
		by          string
		isNever     bool
	}{
		{"another call brings the answer", "look! open! shut! wait? open! shut!", false, "with tools/call shut {} right behind that, which has brought the answer", "shut", false},
		{"none does, and it says that it waits", "look! open! shut! wait open! shut!", true, "without that", "", true},
		{"none does", "look! open! shut! wait open! shut!", false, "", "", false},
		{"the server answers nothing more", "look! open! shut! wait open shut", true, "", "", false},
		{"it is answered by itself there", "look! open! shut! wait! open! shut!", true, "", "", false},
	} {
		var said []string
		w := waits{say: func(text string) { said = append(said, text) }}
		var wishes workload.Wishes
		offer := workload.Offer{Tools: []workload.OfferedTool{{Name: "wait", SaysItWaits: row.saysItWaits}}}
		first := madeOf(plain)
		const again = "with tools/call wait {} at its end, as that has no answer, and behind it what may bring one"
		if _, why := w.learn(&wishes, first, offer); why != again || len(wishes.Waits) != 1 {
			t.Fatalf("%s: made again %q, with %+v", row.name, why, wishes.Waits)
		}
		made, why := w.learn(&wishes, madeOf(row.trial), offer)
		if why != row.want || (len(made.Events) == len(first.Events)) != (row.want == "") || (len(wishes.Waits) > 0) != (row.want != "") {
			t.Errorf("%s: made again %q, with %+v", row.name, why, wishes.Waits)
			continue
		}
		if row.want == "" {
			continue
		}
		wait := wishes.Waits[0]
		if wait.IsNever != row.isNever || (wait.By == nil) != (row.by == "") || wait.By != nil && wait.By.Tool != row.by || row.isNever != (len(said) > 0) {
			t.Errorf("%s: %+v, and it says %q", row.name, wait, said)
		}
	}
}

// TestLearnOfTool holds that of a tool whose calls wait others that wait are left out.
func TestLearnOfTool(t *testing.T) {
	said := ""
	w := waits{say: func(text string) { said = text }}
	wishes := workload.Wishes{Waits: []workload.Wait{{Call: workload.NamedCall{Tool: "wait", Arguments: json.RawMessage(`{"of":"a"}`)}}}}
	if _, why := w.learn(&wishes, madeOf("wait open!"), workload.Offer{}); why != "without that" || len(wishes.Waits) != 2 || !wishes.Waits[1].IsNever {
		t.Errorf("made again %q, with %+v", why, wishes.Waits)
	}
	if want := "not called: tools/call wait {}: it waits for something that none of the calls brings"; said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
}
