package phrase

import (
	"os/exec"
	"testing"
)

// A shell reads each quoted word as it was.
func TestShellWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	for word, want := range map[string]string{
		"":                    "''",
		"/home/ada/x.jsonl":   "/home/ada/x.jsonl",
		"/home/my code/x":     "'/home/my code/x'",
		"/home/cöde":          "'/home/cöde'",
		"it's":                `'it'\''s'`,
		"http://h/mcp?a=1&b":  "'http://h/mcp?a=1&b'",
		"~/$HOME `id` \\":     "'~/$HOME `id` \\'",
		"two\nlines's":        `$'two\u000alines\'s'`,
		"\x1b[31m":            `$'\u001b[31m'`,
		"not \xff UTF-8":      `$'not \xff UTF-8'`,
		"turned \u202e round": `$'turned \u202e round'`,
		"\U000e0041":          `$'\U000e0041'`,
	} {
		got := ShellWord(word)
		if got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
		if err != nil {
			continue // a machine without bash
		}
		cmd := exec.Command(bash, "-c", "printf %s "+got)
		cmd.Env = []string{"LC_ALL=C.UTF-8"}
		if out, err := cmd.Output(); err != nil || string(out) != word {
			t.Errorf("%s: the shell reads %q, %v", got, out, err)
		}
	}
	if got, want := ShellLine("a b", "c"), "'a b' c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
