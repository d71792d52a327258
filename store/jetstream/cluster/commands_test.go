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

// mcprec is the command, built from the main module once a test run.
var mcprec = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "mcprec-command-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "mcprec")
	build := exec.Command("go", "build", "-o", path, "./cmd/mcprec")
	build.Dir = filepath.Join("..", "..", "..")
	out, err := build.CombinedOutput()
	if err != nil {
		err = errors.Join(err, errors.New(string(out)))
	}
	return path, err
})

// machine is where commands run: its state folder has the key for placeholders and the outboxes.
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
	{line: "replay --client inbox:0 --format json {6}"},
	{line: "explore --schedules 5 --format json {2}"},
	{line: "export {1}"},
	{line: "export --secrets {4}"},
	{line: "export --format raw --dir c2s --secrets {3}"},
	{line: "export --format har {5}"},
	{line: "export --format otlp {1}"},
	{line: "redact --scan"},
	{line: "store verify"},
	{line: "show nothing-is-called-so", names: true},
}

// TestSameAnswers: a folder and a shared store with the same sessions answer each command that reads
// with the same bytes.
func TestSameAnswers(t *testing.T) {
	fixtures := []string{"seed", "crossing", "gosdk-1061", "memory-2025-06-18", "mcpgo-976-listen", "pysdk-594", "progress-2026-07-28"}
	here := newMachine(t)
	cluster := Start(t, Options{Nodes: 3})
	shared := cluster.URL("MCPREC", "")
	if got := here.run(shared, "list"); got.code == 0 || !strings.Contains(got.errs, "there is no stream MCPREC: ") {
		t.Errorf("list of a store that nobody has made: exit status %d, %s%s", got.code, got.out, got.errs)
	}
	here.must(shared, "store", "make")
	if got := here.run(shared, "store", "make", "--max-bytes", "1GB"); got.code == 0 || !strings.Contains(got.errs, "exists with max_bytes -1") {
		t.Errorf("a bound for a stream that exists without: exit status %d, %s%s", got.code, got.out, got.errs)
	}
	var ids []string
	for _, fixture := range fixtures {
		file := filepath.Join("..", "..", "..", "fixtures", fixture+".jsonl")
		id := strings.TrimSpace(here.must(here.folder(), "import", file))
		if again := strings.TrimSpace(here.must(shared, "import", file)); again != id {
			t.Fatalf("%s: id %s in the folder, %s in the shared store", fixture, id, again)
		}
		ids = append(ids, id)
	}
	for _, test := range answerCases {
		t.Run(test.line, func(t *testing.T) {
			line := test.line
			for i, id := range ids {
				line = strings.ReplaceAll(line, "{"+string(rune('1'+i))+"}", id)
			}
			answer := func(store string) result {
				got := here.run(store, strings.Fields(line)...)
				if test.names {
					location, _, _ := strings.Cut(store, "?")
					got.errs = strings.ReplaceAll(got.errs, location, "{store}")
				}
				return got
			}
			want := answer(here.folder())
			got := answer(shared)
			if want.out == "" && want.errs == "" && want.code == 0 {
				t.Fatal("the folder says nothing: what is compared?")
			}
			for _, pair := range []struct{ what, want, got string }{{"stdout", want.out, got.out}, {"stderr", want.errs, got.errs}} {
				if pair.want != pair.got {
					t.Errorf("%s of the folder:\n%s\nof the shared store:\n%s", pair.what, pair.want, pair.got)
				}
			}
			if want.code != got.code {
				t.Errorf("exit status %d for the folder, %d for the shared store", want.code, got.code)
			}
		})
	}
}
