package workload

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/transport/mcp"
)

// TestWaits holds where a call comes that has no answer by itself: at the end, with all that may bring one behind it, or with what is
// known to bring it, or nowhere.
func TestWaits(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"door":{"type":"string","default":"A"}},"required":["door"]}`)
	offer := Offer{Tools: []OfferedTool{
		{Name: "wait", Schema: schema, IsReadOnly: true}, {Name: "look", IsReadOnly: true, Schema: schema}, {Name: "open", Schema: schema}, {Name: "shut", Schema: schema},
	}}
	call := func(tool string) NamedCall { return NamedCall{tool, json.RawMessage(`{"door":"A"}`)} }
	open := call("open")
	for _, row := range []struct {
		wait Wait
		want []string // the ends of the agenda
	}{
		{Wait{Call: call("wait")}, []string{"wait", "open", "open", "shut", "shut", ""}},
		{Wait{Call: call("wait"), By: &open}, []string{"wait", "open"}},
		{Wait{Call: call("wait"), IsNever: true}, nil},
	} {
		agenda := Choose(offer, Wishes{AllTools: true, Waits: []Wait{row.wait}})
		items := agenda.Items
		var targets []string
		for _, item := range items {
			targets = append(targets, item.Target)
			isEarlier := item.Target == "wait" && string(argumentsOf(item)) == `{"door":"A"}` && len(targets) <= len(items)-len(row.want)
			if isEarlier {
				t.Errorf("%+v: it is called in front of the end: %q", row.wait, targets)
			}
		}
		if got := targets[len(targets)-len(row.want):]; !slices.Equal(got, row.want) {
			t.Errorf("%+v: the session ends with %q, want %q", row.wait, got, row.want)
		}
		if last := items[len(items)-1]; row.wait.By == nil && !row.wait.IsNever && last.Method != mcp.MethodPing {
			t.Errorf("the session ends with %s", last.Method)
		}
	}
}

// TestSaysItWaits holds which tools say that they wait.
func TestSaysItWaits(t *testing.T) {
	for text, want := range map[string]bool{
		"wait_for_reply": true, "next Blocks until a message comes.": true, "poll events": true,
		"waiter_list Lists the waiters": false, "add Adds two numbers": false,
	} {
		if got := saysItWaits(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
