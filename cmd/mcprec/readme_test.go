//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReadme runs the commands that the README shows, in its order, and holds
// their output to it. A block is lines indented by four: "$ COMMAND" and what it
// prints. -update rewrites them.
func TestReadme(t *testing.T) {
	t.Parallel()
	const name = "../../README.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	var got strings.Builder
	inBlock, commands := false, 0
	for line := range strings.Lines(string(text)) {
		command, isCommand := strings.CutPrefix(line, "    $ ")
		switch {
		case isCommand:
			if inBlock {
				got.WriteString("\n")
			}
			commands++
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
	if commands < 10 {
		t.Errorf("only %d commands found", commands)
	}
	if got.String() == string(text) {
		return
	}
	if !*update {
		t.Errorf("the README shows what the commands do not print; rerun with -update and read the diff. Now:\n%s", got.String())
		return
	}
	if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shell runs a README command in the project's folder.
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
