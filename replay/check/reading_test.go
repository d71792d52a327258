package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/mask"
	"github.com/mcprec/mcprec/store/mask/masktest"
	"github.com/mcprec/mcprec/transport/mcp"
)

// TestReading: the findings in messages that come as they were recorded say what they say of masked ones. Secrets stand
// in every text and in every object of the sessions that break the rules.
func TestReading(t *testing.T) {
	masker, err := mask.New([]byte("a key"), mask.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	frame := func(data []byte) []byte {
		masked, _ := masker.Frame(data)
		return masked
	}
	gate := Gate{Schema: &schema.Validator{}}
	masked := 0
	for name, cases := range readRules(t) {
		if strings.HasPrefix(name, "E5 ") { // to mask bytes that are no UTF-8 makes them UTF-8
			continue
		}
		for _, c := range cases {
			text := c.bad
			if _, rest, isGate := strings.Cut(text, "\n"); isGate && strings.HasPrefix(text, "gate ") {
				text = rest
			}
			revisions := []string{"2025-11-25", mcp.Newest}
			if !strings.HasPrefix(text, "@") {
				revisions = revisions[1:]
			}
			for _, revision := range revisions {
				for planting := range masktest.Plantings {
					events := masktest.Plant(parseExample(begins(text, revision)), planting)
					inOrder := masker.Session()
					want := timeline.Mask(frame).Text(findingsOf(t, gate, events, nil, inOrder.Event))
					inOrder = masker.Session()
					got := findingsOf(t, gate, events, frame, func(e store.Event) store.Event {
						if mask.MayWait(e) {
							return e
						}
						return inOrder.Event(e)
					})
					masked += strings.Count(got, "[redacted:")
					if strings.Contains(got, masktest.Secret) {
						t.Errorf("%s at %s: a secret comes out:\n%s", name, revision, got)
					} else if want != got {
						t.Errorf("%s at %s: of messages as they were recorded\n%s\nof masked ones\n%s", name, revision, got, want)
					}
				}
			}
		}
	}
	if masked < 50 {
		t.Errorf("only %d secrets were masked in findings", masked)
	}
}

// findingsOf lists what a fold with a mask finds in events, each of which passes a function first.
func findingsOf(t *testing.T, gate Gate, events []store.Event, masks timeline.Mask, pass func(store.Event) store.Event) string {
	t.Helper()
	var list strings.Builder
	f := New(gate, func(found Finding) { fmt.Fprintf(&list, "%v [%s]\n", found, found.Title) })
	model := timeline.NewModel(timeline.Remembered)
	model.Masked(masks)
	for _, e := range events {
		if err := f.Take(model.Take(pass(e))); err != nil {
			t.Fatal(err)
		}
	}
	sum := f.Close(0)
	for i := range sum.Tallies { // the bytes of a batch are those that came
		sum.Tallies[i].Requests, sum.Tallies[i].Responses = 0, 0
	}
	fmt.Fprintln(&list, sum)
	return list.String()
}
