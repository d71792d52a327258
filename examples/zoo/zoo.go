// Package zoo keeps bugs of released MCP software, explored.
//
// Each directory below is a module of its own, for one era of one SDK. Its go.mod
// has the release with the bugs, fixed.mod the one in which most of them are gone.
// A test is one bug: a plan that says who plays, and what exploring it must give at
// each of the two releases. Most were published by others. Those that mcprec found
// have a report in docs/bugs, and where no release is without them fixed.txt names
// patches: the green side is then the same release with these patches, v1.8.0+fix.
// From the top of the repository
//
//	make zoo
//
// runs all of them and prints a table: each bug, what exploring the release with it
// gives, after how many schedules, and what the one without it gives. It fails
// unless all is as expected. To see a report:
//
//	cd examples/zoo/gosdk170
//	go test -v -run Cancel                               # with the bug
//	go test -v -run Cancel -tags fixed -modfile=fixed.mod # without
//
// or, from the top, go run ./examples/zoo/table -v -run Cancel gosdk170. With MCPREC_TOKEN
// a test runs the one schedule of that token.
//
// A line with "session" in its name has no peer by hand: the recorded half of a golden
// session of package fixtures plays to the live release, which fails on what the
// session says.
//
// With MCPREC_NIGHT=1 each failure is searched for with 31 seeds.
//
// Module node has bugs of servers in JavaScript, each shown on a real process; its lines are
// missing where there is no npm.
//
// The modules are nested so that nobody who uses mcprec pulls these releases.
//
// # Promises
//
// The release is not taken from a setting but from the SDK's code in the test
// binary. A failure's token is followed once more and must give the same. What a
// report must name (the frame, who holds it, who waits, which capacities are
// safe) is part of what is wanted, and what it says of the cause is in testdata:
// go test -update rewrites that.
//
// # What it leaves out
//
// A verdict is a proof where a bubble can hold both peers. Three bugs are less: of
// mcp-go 138 the report is undecided, with the waiter's place, as no stack tells who
// left a lock; mcp-go 956 and trpc-mcp-go are between two processes, and a plain test
// shows them by what happens, in no table of schedules. Over HTTP and through an SDK's
// own in-memory pair no frame passes the gate, so that nothing is ordered but the
// operations.
//
// go-sdk 224 (v0.2.0: the end of Server.Run's context does not end the read of a stdin
// that blocks in the kernel) is not here: that Run will never return can be told there
// by a clock alone.
package zoo

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/explore"
)

// Patched ends the version of a release with patches, as in v1.8.0+fix.
const Patched = "+fix"

// Case is one bug.
type Case struct {
	Name string
	SDK  any // any function of the SDK's
	Plan explore.Plan
	Want map[string]Want // by the SDK's version
}

// Want is what exploring a case must give. The zero value is a pass.
type Want struct {
	Verdict  string // of explore; "" is [explore.Pass]
	Category string
	Hidden   []explore.Capacity // where it must pass; at the others it must fail like this
	Says     []string           // what the report's text must contain
	// Session is the file in package fixtures that has the failing run, without its
	// extension; "" if there is none.
	Session string
}

// Run explores the case, prints a line for it and fails unless it is as wanted.
func (c Case) Run(t *testing.T) {
	t.Helper()
	module := moduleOf(c.SDK)
	_, version, _ := strings.Cut(module, "@")
	want, ok := c.Want[version]
	if !ok && strings.HasSuffix(version, Patched) {
		Row{Bug: c.Name}.Add(t) // no patch is for this bug
		return
	}
	if !ok {
		t.Fatalf("case %s: nothing is said of version %s", c.Name, version)
	}
	if want.Verdict == "" {
		want.Verdict = explore.Pass
	}
	c.Plan.Token = cmp.Or(os.Getenv("MCPREC_TOKEN"), c.Plan.Token)
	r := explore.Search(t, c.Plan)
	wanted, got := outcome(want.Verdict, want.Category), outcome(r.Verdict, r.Category)
	row := Row{Bug: c.Name, Module: module, Verdict: got, Wanted: wanted, Schedules: schedules(c.Plan, r)}
	defer func() { row.Failed = t.Failed(); row.Add(t) }()
	if got != wanted {
		t.Fatalf("case %s at %s: got %s, want %s\n%s", c.Name, version, got, wanted, r.Text())
	}
	if r.Verdict != explore.Pass {
		want.compare(t, r)
		golden(t, version, r)
		want.keep(t, c.Name+", "+module, r)
		c.again(t, r)
		row.Measured = c.measure(t, r)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("case %s at %s\n%s", c.Name, version, r.Text())
	}
}

// compare looks at the rest of a failure's report.
func (w Want) compare(t *testing.T, r explore.Report) {
	t.Helper()
	text := r.Text()
	for _, part := range w.Says {
		if !strings.Contains(text, part) {
			t.Errorf("the report does not say %q", part)
		}
	}
	for _, tried := range r.Tried {
		want := r.Verdict
		if slices.Contains(w.Hidden, tried.Capacity) {
			want = explore.Pass
		}
		if tried.Verdict != want {
			t.Errorf("at %v the verdict is %s, want %s", tried.Capacity, tried.Verdict, want)
		}
	}
}

// again follows the token of a failure.
func (c Case) again(t *testing.T, r explore.Report) {
	t.Helper()
	plan := c.Plan
	plan.Token = r.Token
	again := explore.Search(t, plan)
	if got, want := outcome(again.Verdict, again.Category), outcome(r.Verdict, r.Category); got != want {
		t.Errorf("case %s: token %s gives %s, not %s again\n%s", c.Name, r.Token, got, want, again.Text())
	}
}

// measure says after how many schedules other seeds find the failure, if MCPREC_NIGHT
// is set.
func (c Case) measure(t *testing.T, r explore.Report) string {
	t.Helper()
	if os.Getenv("MCPREC_NIGHT") == "" || r.Verdict == explore.Undecided { // each of these leaves its goroutines
		return ""
	}
	var counts []int
	for seed := range uint64(31) {
		plan := c.Plan
		plan.Seed, plan.Schedules = seed+1, 500
		found := explore.Search(t, plan)
		if got, want := outcome(found.Verdict, found.Category), outcome(r.Verdict, r.Category); got != want {
			t.Errorf("seed %d gives %s, want %s\n%s", plan.Seed, got, want, found.Text())
		}
		counts = append(counts, found.Schedules)
	}
	slices.Sort(counts)
	return fmt.Sprintf("median %d, worst %d of 31 seeds", counts[15], counts[30])
}

func outcome(verdict, category string) string {
	return strings.TrimSpace(verdict + " " + category)
}

var versioned = regexp.MustCompile(`([^/]+@v[^/]+)/`)

// moduleOf returns the module that a function is from, as go-sdk@v1.8.0. Its file's
// name has it: test binaries carry no list of their modules.
func moduleOf(function any) string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).FileLine(0)
	if found := versioned.FindStringSubmatch(file); found != nil {
		return found[1]
	}
	return "unknown"
}
