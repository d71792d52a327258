package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBugsFound holds docs/bugs-found.md to what is there: each folder of docs/bugs has a
// report and a program and is on the page, and each test that the page names is in
// examples/zoo.
func TestBugsFound(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/bugs-found.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	reports, err := filepath.Glob("../../docs/bugs/*/report.md")
	if err != nil || len(reports) < 20 {
		t.Fatalf("found %d reports (%v)", len(reports), err)
	}
	for _, report := range reports {
		folder := filepath.Dir(report)
		if programs, _ := filepath.Glob(filepath.Join(folder, "main.*")); len(programs) != 1 {
			t.Errorf("%s has %d programs, want main.go or main.mjs", folder, len(programs))
		}
		if !strings.Contains(page, "(bugs/"+filepath.Base(folder)+"/report.md)") {
			t.Errorf("docs/bugs-found.md does not link to %s", report)
		}
	}
	inZoo := regexp.MustCompile(`examples/zoo/(?:table -v -run )?(\w+)(?: (\w+)| .*'\^(\w+)\$')`)
	named := inZoo.FindAllStringSubmatch(page, -1)
	if len(named) < 20 {
		t.Errorf("docs/bugs-found.md names %d tests of examples/zoo", len(named))
	}
	for _, m := range named {
		module, test := m[1], m[3]
		if m[2] != "" {
			module, test = m[2], m[1]
		}
		files, _ := filepath.Glob("../../examples/zoo/" + module + "/*_test.go")
		found := false
		for _, file := range files {
			source, err := os.ReadFile(file)
			found = found || err == nil && strings.Contains(string(source), "func "+test+"(")
		}
		if !found {
			t.Errorf("examples/zoo/%s has no %s", module, test)
		}
	}
}
