package sharing

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store/diagnosis"
)

// rulesOf gathers the facts of a folder and returns what is found. The free space is left out,
// which is the machine's.
func rulesOf(t *testing.T, path string) (rules []string) {
	t.Helper()
	facts := Folder(path)
	facts.Free = -1
	facts.Network = false
	for _, finding := range facts.Findings() {
		rules = append(rules, finding.Rule)
	}
	return rules
}

// TestFolder: a folder that is well, missing, no folder, open to others; and nothing is left there.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	if got := rulesOf(t, dir); strings.Join(got, " ") != "folder" {
		t.Errorf("a folder that is not there: %q", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := rulesOf(t, dir); len(got) > 0 {
		t.Errorf("an empty folder: %q", got)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if facts := Folder(file); facts.Fault == "" {
		t.Error("a file is taken for a folder")
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if got := rulesOf(t, dir); runtime.GOOS != "windows" && strings.Join(got, " ") != "rights" {
		t.Errorf("a file that others may read: %q", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("in the folder are %v, %v", left, err)
	}
}

// TestFree: on the systems that say so, the free space and the file system of a folder are known.
func TestFree(t *testing.T) {
	name, _, free := disk(t.TempDir())
	if known := runtime.GOOS == "linux" || runtime.GOOS == "darwin"; known && (name == "" || free <= 0) {
		t.Errorf("file system %q, %d bytes free", name, free)
	}
}

// TestText: the report says each finding with what to do, and counts them.
func TestText(t *testing.T) {
	report := Diagnosis{Store: "nats://h/M", Cluster: &diagnosis.Cluster{
		Servers: []diagnosis.Server{{Address: "h:4222", Name: "n1", Version: "2.15.2"}, {Address: "g:4222", Fault: "refused", Named: true}},
		Fault:   "not enabled",
	}}
	report.Judge()
	var out bytes.Buffer
	if err := report.Text(&out); err != nil {
		t.Fatal(err)
	}
	const want = `nats://h/M
server   n1 at h:4222: nats-server 2.15.2, 0s away
server   g:4222 does not answer

error    JetStream does not answer: not enabled
         sessions are kept in JetStream; recorders keep theirs in their outboxes until it answers
         do: turn it on in each server's configuration (jetstream { store_dir: … }), and for the account

warning  server g:4222 does not answer: refused
         the store works through the others, and a failure more may stop it
         do: start it, or take it out of the address if it is gone

1 error, 1 warning, 0 notes
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if report.Passed() {
		t.Error("it passed")
	}
}
