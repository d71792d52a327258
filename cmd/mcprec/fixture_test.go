//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/examples/progress"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/transport"
)

// TestRecordedInTest: a file that mcprec record wrote is a go test's fixture as it
// is, against a live client and against a live server; so is the export of the
// session, the same bytes.
func TestRecordedInTest(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MCPREC_HOME", filepath.Join(dir, "home"))
	file, export := filepath.Join(dir, "record.jsonl"), filepath.Join(dir, "export.jsonl")
	mcprec(t, "demo", "client", "--", "mcprec", "record", "-o", file, "--", "mcprec", "demo", "server")
	mcprec(t, "export", "-o", export)
	if read(t, file) != read(t, export) {
		t.Errorf("record -o wrote\n%s\nexport writes\n%s", read(t, file), read(t, export))
	}
	fx := fixtures.Load(t, file)
	t.Run("client", func(t *testing.T) {
		fx.Replay(t, fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
			if err := progress.Call(t.Context(), io.Discard, conn); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("server", func(t *testing.T) {
		fx.Replay(t, fixtures.AsClient, func(t testing.TB, conn transport.Conn) {
			if err := progress.Serve(t.Context(), conn); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestRecordedByTest: what a go test records of a live server is a session to the
// command. See fixture_of_test.txtar for what each subcommand makes of one.
func TestRecordedByTest(t *testing.T) {
	t.Setenv("MCPREC_MODE", "all") // whatever the mode of this run is
	dir := t.TempDir()
	t.Setenv("MCPREC_HOME", filepath.Join(dir, "home"))
	file, export := filepath.Join(dir, "test.jsonl"), filepath.Join(dir, "export.jsonl")
	t.Run("record", func(t *testing.T) { // the file is there when the test has ended
		conn := fixtures.Record(t, file, fixtures.Once, transport.Command{Args: []string{"mcprec", "demo", "server"}})
		if err := progress.Call(t.Context(), io.Discard, conn); err != nil {
			t.Error(err)
		}
	})
	mcprec(t, "store", "verify", file)
	mcprec(t, "replay", file)
	mcprec(t, "import", file)
	mcprec(t, "export", "-o", export)
	if read(t, file) != read(t, export) {
		t.Errorf("fixtures.Record wrote\n%s\nexport writes\n%s", read(t, file), read(t, export))
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
