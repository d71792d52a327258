package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// onTerminal returns what mcprec prints on a terminal of so many columns.
func onTerminal(t *testing.T, home string, columns uint16, args ...string) string {
	t.Helper()
	screen, terminal := newTerminal(t)
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mcprec", args...)
	cmd.Env = append(os.Environ(), "MCPREC_HOME="+home, "NO_COLOR=1", "COLUMNS=", "TZ=UTC")
	cmd.Stdout = terminal
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	out, _ := io.ReadAll(screen) // ends with an error when nobody has the terminal open
	_ = cmd.Wait()               // check exits with 1
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// TestNarrow holds that the lines of show, list and check fit a terminal of 62 columns, that
// the words which matter are on it, and that on a pipe they are whole.
func TestNarrow(t *testing.T) {
	home := t.TempDir()
	fixture := filepath.Join("..", "..", "fixtures", "mcpgo-late-progress.jsonl")
	mcprec(t, "import", "--store", home, fixture)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"show"}, `(?m)^server .*, revision \d`},
		{[]string{"show"}, `(?m)^ +\d+ +\d\.\d{6} s2c <- response .*…$`},
		{[]string{"show", "--body"}, `(?m)^          "jsonrpc": "2\.0",$`},
		{[]string{"list"}, `SESSION .*  START  .*  STATE  .* LABEL .*  COMMAND\n.* closed `},
		{[]string{"list", "--wide"}, `SERVER`},
		{[]string{"stats"}, `TOOL +CALLS  ERRORS  HUNG +P50 +P95  SERVER\nwork `},
		{[]string{"stats", "--by", "server"}, `SERVER +SESSIONS  ERRORS  HUNG  CLIENTS`},
		{[]string{"check"}, `error P3(.|\n)*\n  CALLS  FAILED  OPEN  .*NAME`},
	} {
		out := onTerminal(t, home, 62, row.args...)
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 62 && !strings.HasPrefix(line, "See it: ") { // a command to copy is whole
				t.Errorf("mcprec %s: %d columns: %s", strings.Join(row.args, " "), n, line)
			}
		}
		if !regexp.MustCompile(row.want).MatchString(out) {
			t.Errorf("mcprec %s: want %s in\n%s", strings.Join(row.args, " "), row.want, out)
		}
	}
	if out := mcprec(t, "show", "--store", home); !strings.Contains(out, "s2c <- notification notifications/progress token \"work\": 1 (98 B)\n") {
		t.Errorf("on a pipe:\n%s", out)
	}
}

// TestListOnTerminal holds that a list on a terminal has the newest 30 sessions, and on a pipe all.
func TestListOnTerminal(t *testing.T) {
	home := t.TempDir()
	var files []string
	for n := range screenful + 3 {
		text := fmt.Sprintf(`{"mcprec":1,"id":"0190aaaa-0000-7000-8000-0000000000%02x","start":"2026-01-01T00:00:%02dZ","transport":"stdio"}
{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}
`, n, n)
		name := filepath.Join(t.TempDir(), "session.jsonl")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	mcprec(t, append([]string{"import", "--store", home}, files...)...)
	for _, row := range []struct {
		args string
		want int
	}{{"list", screenful}, {"list -n 0", screenful + 3}, {"list -n 2", 2}} {
		if got := strings.Count(onTerminal(t, home, 120, strings.Fields(row.args)...), "\n") - 1; got != row.want {
			t.Errorf("mcprec %s: %d sessions", row.args, got)
		}
	}
	if got := strings.Count(mcprec(t, "list", "--store", home), "\n") - 1; got != screenful+3 {
		t.Errorf("on a pipe: %d sessions", got)
	}
}

// TestListNarrow holds that a list on a narrow terminal has the name of the server, and the whole state: the command
// is cut before that.
func TestListNarrow(t *testing.T) {
	home := t.TempDir()
	name := filepath.Join(t.TempDir(), "session.jsonl")
	text := fmt.Sprintf(`{"mcprec":1,"id":"0190aaaa-0000-7000-8000-00000000000a","start":"%s","transport":"stdio","labels":{"client":"cursor","server":"my notes"},"command":["node","a/very/long/path/of/a/server.mjs","--verbose"]}
{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
{"at":"10m40s","kind":"eof","dir":"c2s","data":{"by":"sender"}}
{"at":"10m40s","kind":"closed","data":{"frames":1,"lost":0}}
`, time.Now().Add(-12*time.Minute).UTC().Format(time.RFC3339))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	mcprec(t, "import", "--store", home, name)
	for _, columns := range []uint16{80, 62} {
		if out := onTerminal(t, home, columns, "list"); !regexp.MustCompile(`(?m)  closed, hung 10m39s  my notes  `).MatchString(out) {
			t.Errorf("%d columns:\n%s", columns, out)
		}
	}
}
