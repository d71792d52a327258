package check

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/acp"
	"github.com/mcprec/mcprec/transport/mcp"
)

// ruleCase is a pair of testdata/rules.txt: what breaks a rule, and what nearly does.
type ruleCase struct{ bad, good string }

// TestRules: every rule in the list of rules has a session that breaks it and a legal
// one. A session that begins with @ is played in each revision: it breaks the rule in
// those that have it, and in no other.
func TestRules(t *testing.T) {
	cases := readRules(t)
	for _, d := range Demands() {
		name := d.Rule + " " + d.Title
		if len(cases[name]) == 0 {
			t.Errorf("%s: want a session that breaks it and a legal one in testdata/rules.txt", name)
		}
		for _, c := range cases[name] {
			checkPair(t, d, c)
		}
		delete(cases, name)
	}
	for name := range cases {
		t.Errorf("%s is no rule", name)
	}
}

// checkPair plays a pair of sessions in the revisions.
func checkPair(t *testing.T, d order.Demand, c ruleCase) {
	revisions := mcp.Revisions
	if d.Rule[0] == 'A' {
		revisions = []string{acp.Version1, acp.Version2}
	}
	for _, revision := range revisions {
		if !strings.HasPrefix(c.bad, "@") && revision != d.Last {
			continue
		}
		severity := breaks(t, d, c.bad, revision)
		if has := d.In(revision); has != (severity == d.Severity) && (has || severity != 0) {
			t.Errorf("%s %s: at %s it is found as %v, want %v (%t), in\n%s", d.Rule, d.Title, revision, severity, d.Severity, has, c.bad)
		}
		if severity := breaks(t, d, c.good, revision); severity != 0 {
			t.Errorf("%s %s: its legal session at %s breaks it (%v):\n%s", d.Rule, d.Title, revision, severity, c.good)
		}
	}
}

// breaks returns how gravely a session breaks a demand; 0 if it does not.
func breaks(t *testing.T, d order.Demand, text, revision string) (worst order.Severity) {
	t.Helper()
	gate := Gate{}
	var trusted string
	if rest, ok := strings.CutPrefix(text, "gate "); ok {
		words, rest, _ := strings.Cut(rest, "\n")
		text = rest
		switch key, value, _ := strings.Cut(words, " "); key {
		case "max":
			gate.MaxDuration, _ = time.ParseDuration(value)
		case "expect":
			gate.Expect = []string{value}
		case "forbid":
			gate.Forbid = []string{value}
		case "schema":
			gate.Schema = &schema.Validator{}
		case "toolerror":
			gate.FailOnToolError = true
		case "baseline":
			trusted = value
		}
	}
	if trusted != "" {
		gate.Baseline = NewBaseline("trusted")
		lists := parseExample("> {\"id\":1,\"method\":\"tools/list\"}\n< {\"id\":1,\"result\":{\"tools\":" + trusted + "}}")
		if err := timeline.Project(timeline.Steps(jsonl.Each(lists)), gate.Baseline); err != nil {
			t.Fatal(err)
		}
	}
	f := New(gate, func(one Finding) {
		if one.Rule == d.Rule && one.Title == d.Title {
			worst = max(worst, one.Severity)
		}
	})
	if err := timeline.Project(timeline.Steps(jsonl.Each(parseExample(begins(text, revision)))), f); err != nil {
		t.Fatalf("%s: %v", d.Title, err)
	}
	f.Close(0)
	return worst
}

// begins puts the beginning of a revision's session in the place of an @.
func begins(text, revision string) string {
	rest, ok := strings.CutPrefix(text, "@\n")
	switch {
	case !ok:
		return text
	case revision == mcp.Revision2026_07_28:
		return "> {\"id\":\"d\",\"method\":\"server/discover\",\"params\":{$META}}\n< {\"id\":\"d\",\"result\":{}}\n" + rest
	}
	return strings.ReplaceAll(exampleHandshake, mcp.Revision2025_11_25, revision) + rest
}

// readRules reads the pairs, of which a rule may have several: behind = a rule and its title, behind - bad or good.
func readRules(t *testing.T) map[string][]ruleCase {
	text, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string][]ruleCase{}
	for part := range strings.SplitSeq("\n"+string(text), "\n= ") {
		name, rest, _ := strings.Cut(part, "\n")
		bad, good, ok := strings.Cut(rest, "- good\n")
		bad, ok2 := strings.CutPrefix(bad, "- bad\n")
		if !ok || !ok2 {
			continue // the text above
		}
		clean := func(s string) string {
			return strings.Join(slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return l == "" }), "\n")
		}
		pair := ruleCase{clean(bad), clean(good)}
		if pair.bad == "" || pair.good == "" {
			t.Errorf("%s: a session of the pair is empty", name)
		}
		cases[name] = append(cases[name], pair)
	}
	return cases
}
