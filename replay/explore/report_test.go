package explore

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestReportText(t *testing.T) {
	if !*update && !inOwnProcess(t) {
		return
	}
	for name, plan := range map[string]Plan{
		"head-on":      {Setup: headOn(1)},
		"lost-answer":  {Setup: registerAfterWrite(2)},
		"swallowed":    {Setup: seed(2, 0)},
		"never-sent":   {Setup: mute},
		"mutual-call":  {Setup: reentrant},
		"unanswered":   {Setup: unanswered},
		"inner":        {Setup: inner},
		"illegal":      {Setup: beside},
		"lost":         {Setup: forgetful(false, 0)},
		"different":    {Setup: counting(first), SameAnswers: true},
		"check-failed": {Setup: lateProgress, Check: checkLate},
		"diverged":     {Setup: conforming, Token: "mcprec1.1-u.delivery.a.4:12345678"},
		"pass":         {Setup: conforming},
		"stall":        {Setup: seed(2, 0), Engine: Settle, Patience: 20 * time.Millisecond},
		"lock":         {Setup: blocker(forEver, nothing), Patience: time.Millisecond},
		"undecided":    {Setup: blocker(func(context.Context) { time.Sleep(time.Millisecond) }, nothing), Token: "mcprec1.0-0.delivery.a.default", Patience: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			got := steady(Search(t, plan).Text())
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; -update rewrites it:\n%s", file, got)
			}
		})
	}
}

var (
	lineNumber  = regexp.MustCompile(`(\.go):\d+`)
	closureName = regexp.MustCompile(`(?m)^( +|.*\] )\S+\.func[\d.]+ `)
)

// steady takes out what changes with the compiler and with every edit.
func steady(text string) string {
	return closureName.ReplaceAllString(lineNumber.ReplaceAllString(text, "$1"), "${1}a closure in ")
}

// Each broken rule says where its frame was written, once where several are of one place.
func TestBrokenCode(t *testing.T) {
	at := func(code ...string) gate.Breach { return gate.Breach{Frame: "s2c x#1", Code: code} }
	text := Report{Verdict: Illegal, Broken: []Breach{at("a.go:1"), at("a.go:1"), at("b.go:2"), at()}}.Text()
	if strings.Count(text, "written at") != 2 || strings.Count(text, "a.go:1") != 1 || !strings.Contains(text, "b.go:2") {
		t.Error(text)
	}
}

// mute is a server that never reads.
func mute(r *Run) {
	client := newPeer(r.Client())
	r.Go(client.read)
	r.Op("call", func(ctx context.Context) error { return client.tool(ctx, "x") })
}

// TestBrief: a long report ends behind so many lines, and never with a title alone.
func TestBrief(t *testing.T) {
	r := Report{Verdict: Hang, Token: "t", Explanation: "it hangs", Blocked: []string{"client.go:19 (chan send), under the handler of x"},
		Choices: []string{"a", "b"}, Sequence: slices.Repeat([]string{"1 | a |"}, 30)}
	whole := r.Text()
	if text, left := r.Brief(50); text != whole || left != 0 {
		t.Errorf("whole: %d lines left of\n%s", left, text)
	}
	for most, want := range map[int]int{2: 4, 4: 4, 10: 8, 11: 8, 13: 8, 30: 8} {
		text, left := r.Brief(most)
		if lines := strings.Count(text, "\n"); lines != want || lines+left != strings.Count(whole, "\n") || !strings.HasPrefix(whole, text) {
			t.Errorf("at most %d: %d lines, want %d, and %d are left:\n%s", most, lines, want, left, text)
		}
	}
	if !strings.HasPrefix(whole, "blocked in your code: client.go:19 (chan send), under the handler of x\nHANG (proved)") {
		t.Errorf("it begins\n%s", whole)
	}
}

// Whoever reads the JSON may range over every list without asking first.
func TestReportListsNeverNull(t *testing.T) {
	b, err := json.Marshal(Report{Smaller: &Smaller{}})
	if err != nil || bytes.Contains(b, []byte("null")) {
		t.Errorf("%s, %v", b, err)
	}
	kind := reflect.TypeFor[Report]()
	for i := range kind.NumField() {
		f := kind.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type.Kind() == reflect.Slice && name != "-" && !bytes.Contains(b, []byte(`"`+name+`":[]`)) {
			t.Errorf("%s is no list in %s", name, b)
		}
	}
}
