package cluster

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// programs is the folder with mcprec and mcprec-share, which are built once a test run.
var programs struct {
	sync.Once
	dir string
	err error
}

// mcprec returns the path of mcprec, with mcprec-share beside it.
func mcprec() (string, error) {
	programs.Do(func() {
		programs.dir, programs.err = os.MkdirTemp("", "mcprec-programs-*")
		for folder, pkg := range map[string]string{filepath.Join("..", "..", ".."): "./cmd/mcprec", "..": "./mcprec-share"} {
			if programs.err != nil {
				return
			}
			build := exec.Command("go", "build", "-o", programs.dir+string(filepath.Separator), pkg)
			build.Dir = folder
			if out, err := build.CombinedOutput(); err != nil {
				programs.err = errors.Join(err, errors.New(string(out)))
			}
		}
	})
	return filepath.Join(programs.dir, "mcprec"), programs.err
}

// machine is where commands run.
type machine struct {
	t     testing.TB
	path  string // of mcprec
	state string // of the user

	variables []string // of its environment
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	path, err := mcprec()
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t: t, path: path, state: t.TempDir()}
}

// folder is the store of the machine where none is named.
func (m *machine) folder() string { return filepath.Join(m.state, "mcprec") }

// command returns a command on a store, to be started.
func (m *machine) command(store string, args ...string) *exec.Cmd {
	cmd := exec.Command(m.path, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+m.state, "MCPREC_HOME="+store, "TZ=UTC", "NO_COLOR=1")
	cmd.Env = append(cmd.Env, m.variables...)
	return cmd
}

// result is what a command did.
type result struct {
	out, errs string
	code      int
}

func (m *machine) run(store string, args ...string) result {
	m.t.Helper()
	cmd := m.command(store, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		m.t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// must runs a command that succeeds, and returns its output.
func (m *machine) must(store string, args ...string) string {
	m.t.Helper()
	got := m.run(store, args...)
	if got.code != 0 {
		m.t.Fatalf("mcprec %s: exit status %d: %s", strings.Join(args, " "), got.code, got.errs)
	}
	return got.out
}

// answerCases are command lines. {1} to {7} stand for the ids of sessions. Where a command names the store,
// {store} stands for that.
var answerCases = []struct {
	line  string
	names bool // the store is named in what is printed
}{
	{line: "list"},
	{line: "list --wide"},
	{line: "list --format json"},
	{line: "list --wide --format json -n 3"},
	{line: "list --filter tool:count"},
	{line: "list --filter status:pending"},
	{line: "list --stuck", names: true},
	{line: "list seed"},
	{line: "list nothing-is-called-so", names: true},
	{line: "show {1}"},
	{line: "show"},
	{line: "show --format json {2}"},
	{line: "show --body 5 {1}"},
	{line: "show --http {5}"},
	{line: "show --filter status:pending {6}"},
	{line: "show --format sequence {1}"},
	{line: "tail {1}"},
	{line: "tail -n 3 --format json {2}"},
	{line: "tail -f {1}"},
	{line: "why"},
	{line: "why {6}"},
	{line: "why --format json {2}"},
	{line: "why --all"},
	{line: "tools"},
	{line: "tools --format json"},
	{line: "servers"},
	{line: "servers --format json"},
	{line: "check {1}"},
	{line: "check --format json {2}"},
	{line: "check --all"},
	{line: "check --all --format json"},
	{line: "state {1}"},
	{line: "state --format json {4}"},
	{line: "diff {1} {6}"},
	{line: "diff --format json {1} {2}"},
	{line: "bisect --expr failures>0 {1}"},
	{line: "capacity {1}"},
	{line: "replay {1}"},
	{line: "replay --client notification-queue=0 --format json {6}"},
	{line: "explore --orders 5 --format json {2}"},
	{line: "export {1}"},
	{line: "export {4}"},
	{line: "export --format raw --dir c2s {3}"},
	{line: "export --format har {5}"},
	{line: "export --format otlp {1}"},
	{line: "redact --scan"},
	{line: "store verify"},
	{line: "show nothing-is-called-so", names: true},
}

// TestSameAnswers: the store that recorded sessions, and a folder into which they were pulled, answer each command
// that reads with the same bytes.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	fixtures := []string{"seed", "crossing", "gosdk-1061", "memory-2025-06-18", "mcpgo-976-listen", "pysdk-594", "progress-2026-07-28"}
	here := newMachine(t)
	cluster := Start(t, Options{Nodes: 3})
	url := cluster.URL("MCPREC", "")
	pulled := filepath.Join(t.TempDir(), "pulled")
	if got := here.run(here.folder(), "share", "push", "--once", url); got.code != 3 || !strings.Contains(got.errs, "there is no stream MCPREC: ") {
		t.Fatalf("without a stream push says, with exit status %d: %s", got.code, got.errs)
	}
	here.must(here.folder(), "share", "make", url)
	var ids []string
	for _, name := range fixtures {
		path := filepath.Join("..", "..", "..", "fixtures", name+".jsonl")
		ids = append(ids, strings.TrimSpace(here.must(here.folder(), "import", path)))
	}
	here.must(here.folder(), "share", "push", "--once", url, "--machine", "")
	here.must(here.folder(), "share", "pull", "--once", url, "--into", pulled)
	for _, test := range answerCases {
		t.Run(test.line, func(t *testing.T) {
			line := test.line
			for i, id := range ids {
				line = strings.ReplaceAll(line, "{"+string(rune('1'+i))+"}", id)
			}
			answer := func(store string) result {
				got := here.run(store, strings.Fields(line)...)
				if test.names {
					got.errs = strings.ReplaceAll(got.errs, store, "{store}")
				}
				return got
			}
			want := answer(here.folder())
			got := answer(pulled)
			if want.out == "" && want.errs == "" && want.code == 0 {
				t.Fatal("the store says nothing: what is compared?")
			}
			for _, pair := range []struct{ what, want, got string }{{"stdout", want.out, got.out}, {"stderr", want.errs, got.errs}} {
				if pair.want != pair.got {
					t.Errorf("%s of the store:\n%s\nof the pulled folder:\n%s", pair.what, pair.want, pair.got)
				}
			}
			if want.code != got.code {
				t.Errorf("exit status %d for the store, %d for the pulled folder", want.code, got.code)
			}
		})
	}
}
