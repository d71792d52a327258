//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostReadme is how many lines the README may have: what a newcomer reads in ten minutes.
const mostReadme = 200

// TestReadme runs the commands that the README and the pages in docs show, each page in its
// order and with a store of its own, and holds their output to the text. A block is lines
// indented by four: "$ COMMAND" and what it prints. -update rewrites them.
func TestReadme(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("found %d pages in docs (%v)", len(pages), err)
	}
	for _, page := range append(pages, "../../README.md") {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			holdOutputs(t, page)
		})
	}
}

// TestPages: the README is short, and what a page links to in the project is there.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("found %d pages in docs (%v)", len(pages), err)
	}
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md", "../../SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); filepath.Base(page) == "README.md" && lines > mostReadme {
			t.Errorf("the README has %d lines, more than %d", lines, mostReadme)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#\s]+)`).FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(link[1], ":") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", filepath.Base(page), link[1])
			}
		}
	}
}

// holdOutputs runs the commands of one page and compares their output with the text.
func holdOutputs(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	var got strings.Builder
	inBlock := false
	for line := range strings.Lines(string(text)) {
		command, isCommand := strings.CutPrefix(line, "    $ ")
		switch {
		case isCommand:
			if inBlock {
				got.WriteString("\n")
			}
			got.WriteString(line)
			got.WriteString(indented(shell(t, home, strings.TrimSpace(command))))
			inBlock = true
		case inBlock && (strings.HasPrefix(line, "    ") || line == "\n"):
			// the output as it was
		default:
			if inBlock {
				got.WriteString("\n")
			}
			inBlock = false
			got.WriteString(line)
		}
	}
	if got.String() == string(text) {
		return
	}
	if !*update {
		t.Errorf("%s shows what the commands do not print; rerun with -update and read the diff. Now:\n%s", name, got.String())
		return
	}
	if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shell runs a command of a page in the project's folder.
func shell(t *testing.T, home, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "MCPREC_HOME="+home, "TZ=UTC", "COLUMNS=90", "NO_COLOR=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output() // verdicts other than pass exit 1
	if len(out) == 0 {
		t.Errorf("%s: no output (%v)", command, err)
	}
	return string(out)
}

func indented(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}
