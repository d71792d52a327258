package fault_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/fault"
	"github.com/mcprec/mcprec/transport"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// play plays a playbook: what each line of it leads to stands below the line.
//
//	! RULE        a rule; all come first
//	> FRAME       of the client
//	< FRAME       that the server is to send
//	wait D        time passes
//	.             the server has nothing more to say
func play(t *testing.T, text string) string {
	var rules []fault.Rule
	var b strings.Builder
	var m *fault.Machine
	now := time.Duration(0)
	tell := func(steps []fault.Step) {
		for _, s := range steps {
			b.WriteString("    ")
			switch s.Kind {
			case fault.Send:
				fmt.Fprintf(&b, "< %s\n", s.Frame.Bytes)
			case fault.SendHalf:
				fmt.Fprintf(&b, "half of %s, open %t\n", s.Frame.Bytes, s.Open)
			case fault.Cut:
				fmt.Fprintf(&b, "cut before %s\n", s.Frame.Bytes)
			case fault.End:
				fmt.Fprintf(&b, "the response ends before %s\n", s.Frame.Bytes)
			case fault.Err:
				fmt.Fprintf(&b, "%d bytes to standard error\n", s.Size)
			case fault.Refuse:
				fmt.Fprintf(&b, "refused with %d\n", s.Code)
			case fault.Note:
				fmt.Fprintf(&b, "%s\n", s.Text)
			}
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, " ") {
			continue // what came of it before
		}
		fmt.Fprintln(&b, line)
		sign, rest, _ := strings.Cut(line, " ")
		if m == nil && sign != "!" {
			m = fault.New(rules, 7)
		}
		frame := transport.Frame{Bytes: []byte(rest)}
		switch sign {
		case "!":
			r, err := fault.Parse(rest)
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
		case ">":
			tell(m.Hear(now, frame))
		case "<":
			tell(m.Say(now, frame))
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			now += d
			tell(m.Due(now))
		case ".":
			tell(m.End())
		}
	}
	if m != nil {
		for _, r := range m.Unused() {
			fmt.Fprintf(&b, "    unused: %s\n", r)
		}
	}
	return b.String()
}

// TestFaults holds what each action does: testdata/faults.txt has it.
func TestFaults(t *testing.T) {
	name := filepath.Join("testdata", "faults.txt")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for section := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		title, text, _ := strings.Cut(section, "\n")
		got = append(got, title+"\n"+strings.TrimSpace(play(t, text))+"\n")
	}
	all := strings.Join(got, "\n")
	if *update {
		if err := os.WriteFile(name, []byte(all), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if all != string(data) && !*update {
		t.Errorf("got\n%s", all)
	}
}

// TestSeed: the same seed takes the same calls, in whatever order they come, and another seed
// other ones; the chance is about the one asked for.
func TestSeed(t *testing.T) {
	rule, err := fault.Parse("tool:a drop 30%")
	if err != nil {
		t.Fatal(err)
	}
	run := func(seed uint64, mixed bool) (dropped string) {
		m := fault.New([]fault.Rule{rule}, seed)
		for i := range 200 {
			if mixed {
				m.Hear(0, transport.Frame{Bytes: fmt.Appendf(nil, `{"id":"b%d","method":"tools/call","params":{"name":"b"}}`, i)})
				m.Say(0, transport.Frame{Bytes: fmt.Appendf(nil, `{"id":"b%d","result":{}}`, i)})
			}
			m.Hear(0, transport.Frame{Bytes: fmt.Appendf(nil, `{"id":%d,"method":"tools/call","params":{"name":"a"}}`, i)})
			sent := false
			for _, s := range m.Say(0, transport.Frame{Bytes: fmt.Appendf(nil, `{"id":%d,"result":{}}`, i)}) {
				sent = sent || s.Kind == fault.Send
			}
			dropped += map[bool]string{true: ".", false: "x"}[sent]
		}
		return dropped
	}
	one := run(1, false)
	if again := run(1, true); again != one {
		t.Errorf("the same seed: %s\n%s", one, again)
	}
	if other := run(2, false); other == one {
		t.Errorf("two seeds: %s", one)
	}
	if n := strings.Count(one, "x"); n < 40 || n > 80 {
		t.Errorf("%d of 200 for 30%%", n)
	}
}

// TestParse holds what is said of bad rules.
func TestParse(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"tool:search delay 5s", ""},
		{`"drop" drop`, ""},
		{`"a drop b" delay 1s`, ""},
		{"drop 0.5% first 3", ""},
		{"reorder", ""},
		{"reorder 10%", ""},
		{"kind:response reorder 2s once", ""},
		{"half-message silent once", ""},
		{"status 503 10%", ""},
		{"", `fault "": at 1: no action; want one of delay, drop, duplicate, reorder, late-progress, half-message, disconnect, end-stream, silent, stderr, status behind the filter`},
		{"tool:search explode", `fault "tool:search explode": at 13: "explode" is no action; want one of delay, drop, `},
		{"tool:search dealy 5s", `fault "tool:search dealy 5s": at 13: "dealy" is no action; want one of delay, drop, `},
		{"tool:search", `fault "tool:search": at 12: no action; want one of delay, drop, `},
		{"tol:search drop", `fault "tol:search drop": filter "tol:search ": at 1: no field "tol"; want one of tool: `},
		{"delay", `fault "delay": at 6: delay: want a duration such as 500ms or 5s, not ""`},
		{"tool:a delay soon", `fault "tool:a delay soon": at 14: delay: want a duration such as 500ms or 5s, not "soon"`},
		{"delay -1s", `fault "delay -1s": at 7: delay: want a duration`},
		{"drop often", `fault "drop often": at 6: drop: want a chance such as 10%, once, first N or the end, not "often"`},
		{"drop 0%", `fault "drop 0%": at 6: want a chance such as 10%, not "0%"`},
		{"drop NaN%", `fault "drop NaN%": at 6: want a chance such as 10%, not "NaN%"`},
		{"drop 101%", `fault "drop 101%": at 6: want a chance such as 10%, not "101%"`},
		{"drop first 0", `fault "drop first 0": at 12: first: want a number of calls such as first 3, not "0"`},
		{"delay 0s", `fault "delay 0s": at 7: delay: want a duration`},
		{"reorder 5x", `fault "reorder 5x": at 9: reorder: want a duration such as 500ms or 5s, not "5x"`},
		{"status 600", `fault "status 600": at 8: status: want an HTTP status from 300 to 599, not "600"`},
		{"half-message open", `fault "half-message open": at 14: half-message: want a chance`},
		{"\"a \\\" drop\" dely 1s", `fault "\"a \\\" drop\" dely 1s": at 13: "dely" is no action`},
		{"drop first", `fault "drop first": at 11: first: want a number of calls such as first 3, not ""`},
		{"status 200", `fault "status 200": at 8: status: want an HTTP status from 300 to 599, not "200"`},
		{`"drop`, `fault "\"drop": at 6: no action`},
	} {
		r, err := fault.Parse(row.text)
		switch {
		case row.want == "" && (err != nil || r.String() != row.text):
			t.Errorf("%s: %v", row.text, err)
		case row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), row.want)):
			t.Errorf("%s: %v\nwant %s", row.text, err, row.want)
		}
	}
}

// TestRule holds what a rule says besides the messages that it falls on.
func TestRule(t *testing.T) {
	for _, row := range []struct {
		text string
		want fault.Rule
	}{
		{"drop", fault.Rule{Action: fault.Drop, Chance: 1, Wait: time.Second}},
		{"tool:a delay 5s", fault.Rule{Action: fault.Delay, Chance: 1, Wait: 5 * time.Second}},
		{"drop 0.5% first 3", fault.Rule{Action: fault.Drop, Chance: 0.005, First: 3, Wait: time.Second}},
		{"reorder 10%", fault.Rule{Action: fault.Reorder, Chance: 0.1, Wait: time.Second}},
		{"reorder once", fault.Rule{Action: fault.Reorder, Chance: 1, First: 1, Wait: time.Second}},
		{"kind:response reorder 2s once", fault.Rule{Action: fault.Reorder, Chance: 1, First: 1, Wait: 2 * time.Second}},
		{"half-message", fault.Rule{Action: fault.HalfFrame, Chance: 1, Wait: time.Second}},
		{"half-message silent 10%", fault.Rule{Action: fault.HalfFrame, Chance: 0.1, Silent: true, Wait: time.Second}},
		{"status 503", fault.Rule{Action: fault.Status, Code: 503, Chance: 1, Wait: time.Second}},
	} {
		r, err := fault.Parse(row.text)
		got := fault.Rule{Action: r.Action, Wait: r.Wait, Silent: r.Silent, Code: r.Code, Chance: r.Chance, First: r.First}
		if err != nil || got != row.want {
			t.Errorf("%s: %+v, %v, want %+v", row.text, got, err, row.want)
		}
	}
}

// FuzzParse: no text breaks the parser, and a rule that is read names itself.
func FuzzParse(f *testing.F) {
	f.Add("tool:search delay 5s 10% first 3")
	f.Add(`"a \" b" drop`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := fault.Parse(text)
		if err != nil {
			return
		}
		m := fault.New([]fault.Rule{r}, 1)
		m.Hear(0, transport.Frame{Bytes: []byte(`{"id":1,"method":"tools/call","params":{"name":"search"}}`)})
		m.Say(0, transport.Frame{Bytes: []byte(`{"id":1,"result":{}}`)})
		if r.String() != text {
			t.Errorf("%q became %q", text, r)
		}
	})
}
