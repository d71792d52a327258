package order

import (
	"slices"
	"testing"

	"github.com/mcprec/mcprec/transport"
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
		subscriptionCases, logCases, taskCases} {
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

// play returns what a case breaks.
func (rule ruleCase) play(t *testing.T) []Violation {
	lines, revision := rule.lines, ""
	if known := lines[0]; known[:3] == "at " {
		lines, revision = lines[1:], known[3:]
	}
	s := session{c: New(revision)}
	for _, line := range lines {
		s.play(t, line)
	}
	return s.found
}

// TestObserve: what a tap sees after a response may have been sent before it, and is
// a race; what its sender must have known is none.
func TestObserve(t *testing.T) {
	cancel := `> {"method":"notifications/cancelled","params":{"requestId":1}}`
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
	} {
		c := New("")
		var got []string
		for _, line := range test.lines {
			dir := transport.ClientToServer
			if line[0] == '<' {
				dir = transport.ServerToClient
			}
			for _, v := range c.Observe(dir, Parse(transport.Frame{Bytes: []byte(line[2:])})) {
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
