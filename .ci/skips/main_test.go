package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: a failure and a skip that is not in the list are errors, and what they said
// is printed.
func TestReport(t *testing.T) {
	const pkg = `"Package":"github.com/mcprec/mcprec/store"`
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte("# the list\nstore TestDisk/small needs a disk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	allowed, err := readLists([]string{list})
	if err != nil {
		t.Fatal(err)
	}
	passed := `{"Action":"output",` + pkg + `,"Output":"ok store\n"}` + "\n" + `{"Action":"pass",` + pkg + `}` + "\n"
	for name, c := range map[string]struct{ events, want, says string }{
		"all is well":       {`{"Action":"skip",` + pkg + `,"Test":"TestDisk/small"}` + "\n" + passed, "", "ok store\n"},
		"no test":           {`{"Action":"skip",` + pkg + `}` + "\n" + passed, "", "ok store\n"},
		"a skip":            {`{"Action":"output",` + pkg + `,"Test":"TestDisk","Output":"no disk\n"}` + "\n" + `{"Action":"skip",` + pkg + `,"Test":"TestDisk"}` + "\n" + passed, "1 tests were skipped", "store TestDisk: skipped, and not in the list of skips\nno disk\n"},
		"a failure":         {`{"Action":"output",` + pkg + `,"Test":"TestX","Output":"bad\n"}` + "\n" + `{"Action":"fail",` + pkg + `,"Test":"TestX"}` + "\n", "1 tests and packages failed", "bad\n"},
		"it does not build": {`{"Action":"build-output","Output":"x.go: bad\n"}` + "\n" + `{"Action":"build-fail"}` + "\n" + passed, "failed", "x.go: bad\n"},
		"nothing":           {"", "no package was tested", ""},
		"a line of others":  {"make: no rule\n", "no package was tested", "make: no rule\n"},
	} {
		var out strings.Builder
		err := report(strings.NewReader(c.events), &out, allowed)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(out.String(), c.says) {
			t.Errorf("%s: %v, want %q; says %q, want %q", name, err, c.want, out.String(), c.says)
		}
	}
}

// TestLists: each skip of the project's lists has a reason.
func TestLists(t *testing.T) {
	allowed, err := readLists([]string{"../skips.txt", "../skips-without-corpus.txt"})
	if err != nil || len(allowed) == 0 {
		t.Errorf("%d skips, %v", len(allowed), err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("store TestDisk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readLists([]string{bad}); err == nil {
		t.Error("a skip without a reason is allowed")
	}
}
