package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// counting answers each call with what count says.
func counting(count func(n int, m transport.Message) string) func(*Run) {
	return func(r *Run) {
		client, server := pair(r)
		n := 0
		server.inline = true
		server.request = func(ctx context.Context, m transport.Message) {
			n++
			go server.answer(ctx, m, count(n, m))
		}
		for _, name := range []string{"a", "b"} {
			r.Op(name, func(ctx context.Context) error { return client.tool(ctx, "x") })
		}
	}
}

func first(n int, _ transport.Message) string { return fmt.Sprintf(`{"rank":%d}`, n) }

// An answer that changes with the order is a note, and a verdict where the plan
// says so. Its token gives it again.
func TestDifferent(t *testing.T) {
	r := Explore(t, Plan{Setup: counting(first)})
	if len(r.Notes) != 2 || !strings.HasPrefix(r.Notes[0], `the answer to tools/call "x" by b#1 changes with the order: {"rank":2} (token mcprec1.`) {
		t.Errorf("notes %q", r.Notes)
	}
	for _, workers := range []int{1, 4} {
		again := Search(t, Plan{Setup: counting(first), SameAnswers: true, Workers: workers})
		if again.Verdict != Different || again.Explanation != r.Notes[0] || again.Sequence == nil {
			t.Error(again.Text())
		}
		if single := Search(t, Plan{Setup: counting(first), SameAnswers: true, Token: again.Token}); single.Verdict != Different {
			t.Error(single.Text())
		}
	}
}

// What is the same but for ids, tokens and the order of keys is no difference, nor
// are two calls that only share their name.
func TestSameAnswers(t *testing.T) {
	for name, setup := range map[string]func(*Run){
		"meta and keys": counting(func(n int, m transport.Message) string {
			if n == 1 {
				return `{"_meta":{"id":1},"a":1,"b":2}`
			}
			return `{"b":2,"_meta":{"id":2},"a":1}`
		}),
		"twins that ask for other things": func(r *Run) {
			client, server := pair(r)
			server.request = func(ctx context.Context, m transport.Message) {
				server.answer(ctx, m, string(transport.Member(m.Params, "arguments")))
			}
			for _, n := range []string{"1", "2"} {
				r.Op(n, func(ctx context.Context) error {
					// Without the operation's signature: the twins share their names.
					_, err := client.call(r.Context(), "tools/call", `{"name":"x","arguments":`+n+`}`)
					return err
				})
			}
		},
		"conforming": conforming,
	} {
		r := Explore(t, Plan{Setup: setup, SameAnswers: true})
		if len(r.Notes) > 0 {
			t.Errorf("%s: notes %q", name, r.Notes)
		}
	}
}

// An answer that changes in one schedule, too, is said to be random.
func TestRandomAnswer(t *testing.T) {
	var outside atomic.Int64
	r := Explore(t, Plan{SameAnswers: true, Setup: counting(func(int, transport.Message) string {
		return fmt.Sprintf(`{"rank":%d}`, outside.Add(1))
	})})
	if !slices.Contains(r.Notes, `the answer to tools/call "x" by a#1 is another one in the same order, too: it is random, or depends on something outside`) {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestExcerpts(t *testing.T) {
	long := strings.Repeat("é", 30)
	for _, test := range []struct{ a, b, wantA, wantB string }{
		{`{"x":1}`, `{"x":2}`, `{"x":1}`, `{"x":2}`},
		{long + "1", long + "2", "…" + strings.Repeat("é", 10) + "1", "…" + strings.Repeat("é", 10) + "2"},
		{"1" + long + long, "2", "1" + strings.Repeat("é", 29) + "…", "2"},
		{"", "2", "", "2"},
	} {
		if a, b := excerpts([]byte(test.a), []byte(test.b)); a != test.wantA || b != test.wantB {
			t.Errorf("%q, %q: got %q, %q", test.a, test.b, a, b)
		}
	}
}

// The answer to the same params may change though the first answer of that name was
// to others.
func TestDifferentParams(t *testing.T) {
	r := Search(t, Plan{SameAnswers: true, Schedules: 400, Setup: func(r *Run) {
		client, server := pair(r)
		server.inline = true
		third := false // b's request has come
		answered := false
		server.request = func(ctx context.Context, m transport.Message) {
			third = third || strings.Contains(string(m.Params), `"b"`)
			answer := `{}`
			if strings.Contains(string(m.Params), "asked") {
				answer = fmt.Sprintf(`{"third":%v}`, third && strings.Contains(string(m.Params), "true"))
			}
			go server.answer(ctx, m, answer)
		}
		for _, name := range []string{"a", "b"} {
			r.Op(name, func(ctx context.Context) error {
				err := client.tool(ctx, name)
				answered = answered || name == "a"
				return err
			})
		}
		r.Op("ask", func(ctx context.Context) error {
			_, err := client.call(ctx, "tools/call", fmt.Sprintf(`{"name":"c","asked":%v}`, answered))
			return err
		})
	}})
	if r.Verdict != Different || !strings.Contains(r.Explanation, `{"third":`) {
		t.Error(r.Text())
	}
}
