package state

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// followed is what somebody knows who hears only of changes.
type followed struct {
	*Follower
	facts []Fact // in the order in which they came
}

// take takes a step, and reports how many facts changed.
func (f *followed) take(t testing.TB, step timeline.Step) int {
	t.Helper()
	set, gone, err := f.Take(step)
	if err != nil {
		t.Fatal(err)
	}
	for _, was := range gone {
		f.facts = slices.DeleteFunc(f.facts, func(fact Fact) bool { return fact.name() == was.name() })
	}
	for _, fact := range set {
		if at := slices.IndexFunc(f.facts, func(was Fact) bool { return was.name() == fact.name() }); at >= 0 {
			f.facts[at] = fact
		} else {
			f.facts = append(f.facts, fact)
		}
	}
	return len(set) + len(gone)
}

// agrees holds the facts against those of a view.
func (f *followed) agrees(t testing.TB, v View) {
	t.Helper()
	got := slices.Clone(f.facts)
	slices.SortStableFunc(got, func(a, b Fact) int {
		return cmp.Or(slices.Index(topics, a.Topic)-slices.Index(topics, b.Topic), cmp.Compare(a.Order, b.Order))
	})
	want := v.Facts()
	for i := range want {
		want[i].Since = ""
	}
	if !slices.Equal(got, want) {
		t.Errorf("after #%d, followed\n%+v\nthe view has\n%+v", v.Seq, got, want)
	}
}

// TestFollower: the changes come to the facts of the view after each event.
func TestFollower(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sessions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string][]store.Event{}
	for session := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		title, body, _ := strings.Cut(session, "\n")
		sessions[title] = lines(body)
	}
	for _, path := range sessionFiles(t) {
		if sessions[path], err = jsonl.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, events := range sessions {
		t.Run(name, func(t *testing.T) {
			s := newSession()
			f := followed{Follower: NewFollower()}
			for _, e := range events {
				step := s.model.Take(e)
				f.take(t, step)
				if err := s.Take(step); err != nil {
					t.Fatal(err)
				}
				f.agrees(t, s.View(0))
			}
		})
	}
}

// TestFollowerIsLinear: twice as many events change at most 2.6 times as many facts, also where much is
// open at each event.
func TestFollowerIsLinear(t *testing.T) {
	listen := `"method":"subscriptions/listen","params":{"notifications":{"x":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`
	for name, write := range map[string]func(b *strings.Builder, i int){
		"open calls": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, `> {"id":%d,"method":"ping"}`+"\n", i)
		},
		"open calls, a part of the answers lost": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, `> {"id":%d,"method":"ping"}`+"\n"+`lost/ {"frames":1,"streams":["s2c"]}`+"\n", i)
		},
		"open exchanges, blocked writes": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, `http/>%d {"what":"request","method":"POST","path":"/"}`+"\n"+`>%[1]d {"id":%[1]d,"method":"ping"}`+"\n"+
				`http/<%[1]d {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`+"\n"+
				`<%[1]d {"method":"notifications/message"}`+"\n"+`delivered/<%[1]d {"upto":1,"blocked_ns":1000}`+"\n", i)
		},
		"listens": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, `> {"id":%d,%s}`+"\n"+`< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%[1]d}}}`+"\n", i, listen)
		},
		"subscriptions": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, `> {"id":%d,"method":"resources/subscribe","params":{"uri":"file:///%[1]d"}}`+"\n"+`< {"id":%[1]d,"result":{}}`+"\n", i)
		},
		"tasks": func(b *strings.Builder, i int) {
			fmt.Fprintf(b, `> {"id":%d,"method":"tools/call","params":{"name":"x","task":{}}}`+"\n"+`< {"id":%[1]d,"result":{"task":{"taskId":"t%[1]d","status":"working"}}}`+"\n", i)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changes [2]int
			for double := range changes {
				var b strings.Builder
				for i := range 100 << double {
					write(&b, i+1)
				}
				f := followed{Follower: NewFollower()}
				model := timeline.NewModel(timeline.Remembered)
				for _, e := range lines(b.String()) {
					changes[double] += f.take(t, model.Take(e))
				}
			}
			if changes[0] < 200 || 10*changes[1] > 26*changes[0] {
				t.Errorf("%d changes, then %d", changes[0], changes[1])
			}
		})
	}
	t.Run("a batch, answered one by one", func(t *testing.T) {
		var changes [2]int
		for double := range changes {
			n := 100 << double
			var batch []string
			var answers strings.Builder
			for i := range n {
				batch = append(batch, fmt.Sprintf(`{"id":%d,"method":"ping"}`, i))
				fmt.Fprintf(&answers, `< {"id":%d,"result":{}}`+"\n", i)
			}
			f := followed{Follower: NewFollower()}
			model := timeline.NewModel(timeline.Remembered)
			for _, e := range lines("> [" + strings.Join(batch, ",") + "]\n" + answers.String()) {
				changes[double] += f.take(t, model.Take(e))
			}
		}
		if changes[0] < 200 || 10*changes[1] > 26*changes[0] {
			t.Errorf("%d changes, then %d", changes[0], changes[1])
		}
	})
}
