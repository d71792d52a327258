package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store/jsonl"
)

// The sessions of the playbook, in their order.
const calling, resources, listen, tasks, delivered, http = 0, 1, 2, 3, 4, 5

// firsts are conditions and the first event at which they hold.
var firsts = []struct {
	session int
	expr    string
	first   uint64 // 0: never
}{
	{calling, "pending", 2},
	{calling, "pending>1", 6},
	{calling, "pending > 3", 0},
	{calling, "pending(tool:search) == 2", 6},
	{calling, `pending(tool:search id:"a")`, 5},
	{calling, "pending(tool:search id:a dir:s2c)", 0},
	{calling, "pending(dir:s2c)", 8},
	{calling, "pending(method:sampling/createMessage)", 8},
	{calling, "waited(tool:search) >= 2s", 7},
	{calling, "waited>2500ms", 8},
	{calling, `progress("t")>=1`, 7},
	{calling, "progress(t) == 1 and pending(dir:s2c)", 8},
	{calling, `progress("t")>1`, 0},
	{calling, "capability(sampling)", 2},
	{calling, "capability(roots.listChanged)", 2},
	{calling, "capability(server.sampling) || capability(client.tools)", 0},
	{calling, "capability(server.tools)", 3},
	{calling, `revision=="2025-11-25"`, 3},
	{calling, `revision < "2025-11-25"`, 1},
	{calling, `revision != "" and revision < "2026"`, 3},
	{calling, `client == "c" && server == "s"`, 3},
	{calling, "failures", 11},
	{calling, "failures == 2", 12},
	{calling, "not pending and seq > 2", 3},
	{calling, "!(pending or seq<4)", 4},
	{calling, "ended(c2s)", 15},
	{calling, "ended(s2c)", 0},
	{calling, `exit=="0"`, 16},
	{calling, "exit", 16},
	{calling, "revision and client", 3},
	{calling, `pending and (revision == "" or server)`, 2},
	{calling, "lost>=2", 17},
	{calling, "at >= 3s", 4},
	{calling, "messages == 3 and messages(s2c) == 1", 4},
	{resources, "subscriptions", 3},
	{resources, `subscriptions("file:///a")`, 3},
	{resources, "subscriptions(file:///b)", 0},
	{listen, "subscriptions", 3},
	{listen, "pending and subscriptions", 5},
	{listen, `revision >= "2026-07-28"`, 3},
	{tasks, "tasks", 3},
	{tasks, "tasks(input_required)", 4},
	{tasks, "tasks(completed) and tasks==2", 8},
	{tasks, "tasks(working) == 0 and tasks", 4},
	{delivered, "queued(c2s) == 2", 3},
	{delivered, "queued == 1", 2},
	{delivered, "queued == 0 and messages == 3", 6},
	{http, "streams == 2", 4},
	{http, "pending == 2", 5},
}

// TestCondition: the first event of the sessions of the playbook at which each holds.
func TestCondition(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sessions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sessions := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	for _, c := range firsts {
		holds, err := ParseCondition(c.expr)
		if err != nil {
			t.Error(err)
			continue
		}
		_, body, _ := strings.Cut(sessions[c.session], "\n")
		s, first := New(), uint64(0)
		for step, err := range timeline.Steps(jsonl.Each(lines(body))) {
			if err = errors.Join(err, s.Take(step)); err != nil {
				t.Fatal(err)
			}
			if holds.Holds(s) {
				first = step.Seq
				break
			}
		}
		if first != c.first {
			t.Errorf("%s: first at #%d, want #%d", c.expr, first, c.first)
		}
	}
}

func TestConditionRefuses(t *testing.T) {
	for expr, why := range map[string]string{
		"":                         "at 1: want a name, a number or a text in quotes, found the end",
		"pending >":                "at 10: want a name, a number",
		"pending > 3 3":            "at 13: want an operator, and, or, or the end",
		"pendin":                   "want a name, one of pending, waited",
		"(pending":                 "want ), found the end",
		"pending(":                 "want what ends with )",
		"pending(tools:x)":         `pending(tools:x): filter "tools:x": at 1: no field "tools"; want one of tool: method:`,
		"pending(status:ok)":       `status: and took: ask how a call ends`,
		"pending(dir:up)":          "up",
		"progress > 3":             "progress wants (TOKEN)",
		"capability()":             "capability wants (PATH)",
		"revision()":               "revision has no parentheses",
		"revision > 3":             "> compares a number with a text",
		`pending == "3"`:           "== compares a number with a text",
		`"open`:                    "want a text in quotes",
		"at > 3x":                  "want a number, or a duration",
		"pending andpending":       "want an operator",
		"pending and":              "found the end",
		strings.Repeat("(", 10000): "nested too deep",
		strings.Repeat("!", 10000): "nested too deep",
	} {
		_, err := ParseCondition(expr)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.40q: %.200v, want %s", expr, err, why)
		}
	}
}

// FuzzCondition: whatever is asked is answered or refused.
func FuzzCondition(f *testing.F) {
	for _, expr := range []string{`not (pending(tool:x)>3 or progress("t")>=1.5s) and revision=="2025-11-25"`, "queued(c2s) <= -1", `capability("a.b")`} {
		f.Add(expr)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		if c, err := ParseCondition(expr); err == nil {
			c.Holds(New())
		}
	})
}
