package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies: the README's table names each module that go.mod requires, and no
// other.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	_, table, found := strings.Cut(string(text), "\n| module ")
	if !found {
		t.Fatal("the README has no table of modules")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|[^|]+\\| .{10,} \\|$").FindAllStringSubmatch(table, -1) {
		named[row[1]] = true
	}
	out, err := exec.Command("go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if !r.Indirect && !named[r.Path] {
			t.Errorf("the README does not say why %s is needed", r.Path)
		}
		delete(named, r.Path)
	}
	for path := range named {
		t.Errorf("the README names %s, which go.mod does not require", path)
	}
}

// TestNoC: nothing but the standard library could want a C compiler, and that needs none
// with CGO_ENABLED=0: the command is one static file.
func TestNoC(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{.Standard}} {{.ImportPath}} {{len .CgoFiles}} {{len .SwigFiles}}", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 100 {
		t.Fatalf("go list names %d packages", len(lines))
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "false ") && !strings.HasSuffix(line, " 0 0") {
			t.Errorf("uses C: %s", line)
		}
	}
}
