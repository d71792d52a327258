package server

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// command is mcprec, built from the main module.
type command struct {
	t     *testing.T
	path  string
	state string // of the user: the store where none is named is below it
}

func build(t *testing.T) *command {
	t.Helper()
	c := &command{t, filepath.Join(t.TempDir(), "mcprec"), t.TempDir()}
	build := exec.Command("go", "build", "-o", c.path, "./cmd/mcprec")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return c
}

// run runs a command on a store, and returns what it wrote and its exit status.
func (c *command) run(store, line string) (out, errs string, code int) {
	c.t.Helper()
	cmd := exec.Command(c.path, strings.Fields(line)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+c.state, "MCPREC_HOME="+store, "TZ=UTC", "NO_COLOR=1",
		"AWS_ACCESS_KEY_ID=me", "AWS_SECRET_ACCESS_KEY=hunter2", "AWS_REGION=us-east-1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		c.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// TestCommand: commands that read answer of a bucket as of a folder, those that remove work, and what a
// bucket cannot do is said in one line.
func TestCommand(t *testing.T) {
	c := build(t)
	s := start(t)
	s.Start()
	folder := filepath.Join(c.state, "mcprec")
	place := "s3://" + bucket + "/team"
	shared := place + "?endpoint=" + s.URL + "&region=us-east-1"
	var ids []string
	for _, fixture := range []string{"seed", "crossing", "pysdk-594"} {
		line := "import " + filepath.Join("..", "..", "..", "fixtures", fixture+".jsonl")
		want, errs, code := c.run(folder, line)
		if got, gotErrs, _ := c.run(shared, line); got != want || code != 0 {
			t.Fatalf("%s: %q in the folder, %q in the bucket: %s", fixture, want, got, errs+gotErrs)
		}
		ids = append(ids, strings.TrimSpace(want))
	}
	for _, line := range []string{
		"list", "list --wide --format json", "list --filter tool:count", "show", "show " + ids[1], "show --format sequence " + ids[0],
		"tail -n 3 " + ids[2], "tail -f " + ids[0], "why", "why --all", "tools", "servers --format json", "check --all", "state", "export " + ids[0],
		"diff " + ids[0] + " " + ids[1], "replay " + ids[0], "redact --scan", "store verify",
	} {
		wantOut, wantErrs, wantCode := c.run(folder, line)
		gotOut, gotErrs, gotCode := c.run(shared, line)
		if gotOut != wantOut || gotErrs != wantErrs || gotCode != wantCode {
			t.Errorf("%s, of the folder:\n%s%s(%d), of the bucket:\n%s%s(%d)", line, wantOut, wantErrs, wantCode, gotOut, gotErrs, gotCode)
		}
	}
	for _, test := range []struct {
		line, said string
		code       int
	}{
		{"record -- true", place + " cannot be recorded into: record to a folder, then mcprec store archive; the session goes on unrecorded", 4},
		{"store repair", "store repair: " + place + " cannot be repaired from here", 2},
		{"store compact", "store compact: " + place + " cannot be compacted from here", 2},
		{"store keep seed", "store keep: " + place + " has no budget", 2},
		{"store stats", "store stats: " + place + " cannot be measured from here", 0},
		{"store prune --max-size 1MB", "prune --max-size: " + place + " cannot be measured from here", 2},
		{"export --salvage " + ids[0], place + " cannot be salvaged from here", 2},
		{"rm " + ids[0], "", 0},
		{"show " + ids[0], "no session has the id or the label " + ids[0] + " in " + place, 2},
		{"store prune --keep 1", "mcprec: removed 1 session\n", 0},
		{"store prune --keep 0", "mcprec: removed 1 session\n", 0},
		{"list", "no sessions in " + place, 0},
	} {
		out, errs, code := c.run(shared, test.line)
		if !strings.Contains(errs, test.said) || test.said == "" && errs != "" || code != test.code {
			t.Errorf("%s: exit status %d, want %d:\n%s%s, want %q", test.line, code, test.code, out, errs, test.said)
		}
		if strings.Contains(out+errs, "hunter2") {
			t.Errorf("%s shows the secret key", test.line)
		}
	}
}
