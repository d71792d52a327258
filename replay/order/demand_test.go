package order

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
)

// TestDemands: each law is listed once, and each case of the rules' test breaks one that its
// revision has.
func TestDemands(t *testing.T) {
	list := Demands()
	if len(list) < 30 {
		t.Errorf("only %d laws", len(list))
	}
	for i, d := range list {
		if slices.ContainsFunc(list[:i], func(o Demand) bool { return o.Rule == d.Rule && o.Title == d.Title }) {
			t.Errorf("%s %s is listed twice", d.Rule, d.Title)
		}
	}
	for _, cases := range [][]ruleCase{responseCases, requestCases, progressCases, handshakeCases, cancelCases, batchCases,
		subscriptionCases, logCases, taskCases, agentCases} {
		for _, rule := range cases {
			for _, v := range rule.play(t) {
				i := slices.IndexFunc(list, func(d Demand) bool { return d.Rule == v.Rule && d.Title == v.Title })
				if i < 0 || v.Revision != "" && !list[i].In(v.Revision) {
					t.Errorf("%s: %v is not among the demands of its revision", rule.name, v)
				}
			}
		}
	}
}

// TestDemandIn: a demand is of its first revision, its last and those between.
func TestDemandIn(t *testing.T) {
	for _, test := range []struct {
		demand Demand
		want   []string
	}{
		{answersRequest.demand(), mcp.Revisions},
		{initializeFirst.demand(), mcp.Revisions[:4]},
		{taskBegins.demand(), mcp.Revisions[3:4]},
		{logLevelSet.demand(), mcp.Revisions[4:]},
		{noBatches.demand(), mcp.Revisions[2:]},
	} {
		for _, revision := range append([]string{"", "2099-01-01"}, mcp.Revisions...) {
			if test.demand.In(revision) != slices.Contains(test.want, revision) {
				t.Errorf("%s in %q: %v", test.demand.Title, revision, test.demand.In(revision))
			}
		}
	}
}

// TestSections: a violation names the page on which its revision has the rule.
func TestSections(t *testing.T) {
	for _, test := range []struct {
		page           page
		revision, want string
	}{
		{pageBase, mcp.Revision2024_11_05, "basic/messages"},
		{pageBase, mcp.Revision2025_03_26, "basic"},
		{pageLifecycle, mcp.Revision2024_11_05, "basic/lifecycle"},
		{pageProgress, mcp.Revision2025_11_25, "basic/utilities/progress"},
		{pageProgress, mcp.Revision2026_07_28, "basic/patterns/progress"},
		{pageCancel, "", "basic/utilities/cancellation"},
		{pageTasks, mcp.Revision2026_07_28, "extensions/tasks"},
		{pageTasks, mcp.Revision2025_11_25, "basic/utilities/tasks"},
	} {
		if got := test.page.at(test.revision); got != test.want {
			t.Errorf("at %q: %s, want %s", test.revision, got, test.want)
		}
	}
}

// play returns what a case breaks.
func (rule ruleCase) play(t *testing.T) []Violation {
	lines, revision := rule.lines, ""
	if known := lines[0]; known[:3] == "at " {
		lines, revision = lines[1:], known[3:]
	}
	s := newSession(revision, lines)
	for _, line := range lines {
		s.play(t, line)
	}
	return s.found
}

// observe is what a tap finds in a line.
func (s *session) observe(line string) []Violation {
	return s.c.Observe(s.take(store.Event{Kind: store.Frame, Dir: directionOf(line), Payload: []byte(line[2:])}))
}

// TestObserve: what a tap sees after a response may have been sent before it, and is
// a race; what its sender must have known is none.
func TestObserve(t *testing.T) {
	ping, pong := `> {"id":5,"method":"ping"}`, `< {"id":5,"result":{}}`
	cancelPing := strings.Replace(cancel, "1", "5", 1)
	callB := `> {"id":2,"method":"x","params":{"_meta":{"progressToken":"u","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	callA := `> {"id":1,"method":"x","params":{"_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"a cancellation behind the response", []string{call, result, cancel}, []string{"P6 note"}},
		{"a response behind the cancellation", []string{callModern, cancel, result}, []string{"P6 note"}},
		{"a second response", []string{call, result, result}, []string{"P1 error"}},
		{"progress behind the response", []string{call, result, progress + `1}}`}, []string{"P3 error"}},
		{"an old id", shaken(call, result, call), []string{"P2 error"}},
		{"initialized again", shaken(initialized), []string{"P4 warning"}},
		{"initialized alone", []string{initialized}, nil},
		{"a batch", shaken(`> [{"id":1,"method":"x"}]`), []string{"P9 error"}},
		{"progress behind the cancellation", []string{callA, cancel, progress + `1}}`}, []string{"P6 note"}},
		{"progress of a request that came after the cancellation", []string{callA, cancel, callB, strings.Replace(progress, `"t"`, `"u"`, 1) + `1}}`, progress + `1}}`}, []string{"P6 warning"}},
		{"an acknowledgement of a request that came after the cancellation", []string{callA, cancel, listen, ack4, progress + `1}}`}, []string{"P6 warning"}},
		{"a cancellation behind initialized", []string{ping, initialize, pong, capable, initialized, cancelPing}, []string{"P6 warning"}},
		{"a cancellation behind another notification", []string{ping, initialize, pong, capable, `> {"method":"notifications/x"}`, cancelPing}, []string{"P6 note"}},
	} {
		s := newSession("", nil)
		var got []string
		for _, line := range test.lines {
			for _, v := range s.observe(line) {
				got = append(got, v.Rule+" "+v.Severity.String())
				if v.Race != (v.Severity == Note) {
					t.Errorf("%s: %+v", test.name, v)
				}
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
