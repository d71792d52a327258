package picture_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

func compared(t *testing.T, a, b []store.Event) picture.Comparison {
	t.Helper()
	digester := diff.NewDigester(diff.Options{})
	c := diff.New(digester, diff.Options{})
	inA, inB := c.Sides()
	var labels [2]map[uint64]string
	for side, events := range [][]store.Event{a, b} {
		labels[side] = map[uint64]string{}
		_, rows := fold(t, events)
		for i, e := range events {
			labels[side][e.Seq] = rows[i].Label
		}
		for step, err := range timeline.NewModel(diff.Remembered).Steps(jsonl.Each(events)) {
			if err = errors.Join(err, []*diff.Session{inA, inB}[side].Take(step, digester.Digest(timeline.MessagesOf(step.AsFrame())))); err != nil {
				t.Fatal(err)
			}
		}
	}
	report := c.Report()
	return picture.Compare(report, c.Aligned(), func(side int, seq uint64) string { return labels[side][seq] })
}

const (
	oneSession = `
	opened {"mcprec":1,"id":"019a0000-0000-7000-8000-00000000000a","transport":"stdio","command":["srv"]}
	> {"id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":1}}}
	< {"method":"notifications/message","params":{"data":"one"}}
	< {"id":1,"result":{"content":[]}}
	> {"id":2,"method":"tools/call","params":{"name":"gone"}}
	< {"id":2,"result":{}}
	> {"id":3,"method":"ping"}
	< {"id":3,"result":{}}
	exit {"code":0}`
	otherSession = `
	opened {"mcprec":1,"id":"019a0000-0000-7000-8000-00000000000b","transport":"stdio","command":["srv"]}
	> {"id":7,"method":"tools/call","params":{"name":"x","arguments":{"n":2}}}
	< {"id":7,"result":{"content":[]}}
	< {"method":"notifications/message","params":{"data":"one"}}
	> {"id":8,"method":"ping"}
	< {"id":8,"result":{}}
	> {"id":9,"method":"tools/list"}
	< noise
	exit {"code":1}`
)

// TestCompare: messages of two sessions stand side by side, with what differs.
func TestCompare(t *testing.T) {
	golden(t, "compare.json", compared(t, lines(oneSession), lines(otherSession)))
	c := compared(t, lines(oneSession), lines(oneSession))
	if !c.Same || len(c.Sections) != 1 || len(c.Sections[0].Rows) != 7 {
		t.Errorf("a session and itself: %+v", c)
	}
	for _, row := range c.Sections[0].Rows {
		if row.Kind != "same" || row.A != row.B || row.LabelA != row.LabelB || row.LabelA == "" {
			t.Errorf("a session and itself: %+v", row)
		}
	}
}

// TestCompareLong: of a long session the rows near differences are there, and the others are
// counted.
func TestCompareLong(t *testing.T) {
	var text [2]strings.Builder
	const calls = 3000
	for side := range text {
		text[side].WriteString(`opened {"mcprec":1,"id":"019a0000-0000-7000-8000-00000000000a","transport":"stdio","command":["srv"]}` + "\n")
		for id := range calls {
			fmt.Fprintf(&text[side], "> {\"id\":%d,\"method\":\"a\",\"params\":{\"n\":%d}}\n", id, id)
			said := 0
			if id == calls/2 {
				said = side
			}
			fmt.Fprintf(&text[side], "< {\"id\":%d,\"result\":{\"n\":%d}}\n", id, said)
		}
	}
	rows := compared(t, lines(text[0].String()), lines(text[1].String())).Sections[0].Rows
	var drawn []string
	for _, row := range rows {
		drawn = append(drawn, row.Kind+" "+row.Text)
	}
	want := []string{"note 2998 messages are the same", "same ", "same ", "same ", "changed ", "same ", "same ", "same ", "note 2995 messages are the same"}
	if strings.Join(drawn, "|") != strings.Join(want, "|") {
		t.Errorf("got\n%q, want\n%q", drawn, want)
	}
}
