//go:build night && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExplorePage types what docs/explore.md says into one new folder, from "In ten minutes" to "A client over HTTP": it
// needs npm, and some minutes. What stands above has no files of its own, and TestReadme runs its example; what stands
// below records a server on a port of its own, for ever.
// The page's own findings must come, each with its token. Where the machine is busy a timer of node's may still run when
// a hang is looked at, which is SUSPECT then.
func TestExplorePage(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("docs/explore.md installs its client with npm, which is not here")
	}
	text, err := os.ReadFile("../../docs/explore.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, isThere := strings.Cut(string(text), "\n## In ten minutes\n")
	if !isThere {
		t.Fatal("docs/explore.md has no walk of ten minutes")
	}
	page, _, hasEnd := strings.Cut(page, "\n## A client over HTTP\n")
	if !hasEnd {
		t.Fatal("docs/explore.md has no client over HTTP, where the walk ends")
	}
	folder := filepath.Join(t.TempDir(), "a walk")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	file := ""
	for line := range strings.Lines(page) {
		name, isFile := strings.CutPrefix(strings.TrimSpace(line), "```js ")
		command, isCommand := strings.CutPrefix(line, "$ ")
		typed, isTyped := strings.CutPrefix(line, "    ")
		switch {
		case isFile:
			file = name
			script.WriteString("cat > " + name + " <<'EOF'\n")
		case file != "" && strings.HasPrefix(line, "```"):
			file = ""
			script.WriteString("EOF\n")
		case file != "":
			script.WriteString(line)
		case isTyped && strings.HasPrefix(typed, "try {"): // the mend
			script.WriteString("sed -i '/await setTimeout(5/d; s/^  unlock()$/  " + strings.TrimSpace(typed) + "/' server.mjs\n")
		case isTyped:
			script.WriteString(typed)
		case isCommand:
			// The number is that of the event in this recording.
			script.WriteString(strings.Replace(command, "x1.cancel5", "$(grep -o 'x1.cancel[0-9]*' said | head -n 1)", 1))
		}
	}
	cmd := exec.Command("sh", "-c", "exec > said\n"+script.String())
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "MCPREC_HOME="+filepath.Join(folder, "home"))
	_ = cmd.Run() // the last search exits with 1
	text, err = os.ReadFile(filepath.Join(folder, "said"))
	if err != nil {
		t.Fatal(err)
	}
	said := string(text)
	for _, want := range []string{
		"(?s)(HANG|SUSPECT).*token: x1.cancel", `tools/call \(id 2\) is held at server\.mjs:7 \(lock\), called from server\.mjs:12`,
		"2 orders of 5 messages with 4 requests in .*: nothing was found",
		"(?s)RACE: .*create_entities.*token: x1.join", "(?s)RACE: .*edit_file.*token: x1.join",
		"20 orders of 4 messages with 3 requests", "(?s)DIFFERENT OUTPUT.*token: x1.join",
	} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("no line as %s in what was typed:\n%s", want, said)
		}
	}
}
