package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// untrusted are commands that read a recording F of somebody else.
var untrusted = []string{
	"import F", "list", "show", "show F", "show --format sequence F", "show --last 10", "check F", "check --schema F", "state F", "state --first failures>0 F", "diff F F",
	"replay --need F", "replay F", "explore --orders 2 F", "export F", "export --format har F", "export --format otlp F", "export --format mermaid F", "redact --scan F", "store verify",
	"serve F", "serve --mode new_episodes F", "serve --mode all F", "drive F", "drive F --", "drive --update F", "record F", "__complete show ",
}

// TestRunsNothing: no command runs what a recording says that it was recorded from, nor
// makes what it names.
func TestRunsNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MCPREC_HOME", filepath.Join(dir, "home"))
	trace := filepath.Join(dir, "ran")
	path := filepath.Join(dir, "hostile.jsonl")
	text := fmt.Sprintf(`{"mcprec":1,"transport":"stdio","label":"$(touch %[1]s)","command":["sh","-c","touch %[1]s"],"url":"file://%[1]s"}
{"dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"$(touch %[1]s)","arguments":{"path":"%[1]s"}}}}
{"dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link","uri":"file://%[1]s","name":"x"}]}}}
`, trace)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range untrusted {
		out, errs := runLine(t, strings.Split(strings.ReplaceAll(line, "F", path), " ")...)
		if _, err := os.Stat(trace); err == nil {
			t.Fatalf("%s: ran or made what the recording names\n%s%s", line, out, errs)
		}
	}
}
