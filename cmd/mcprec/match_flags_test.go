//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// remedyOf is what drive and diff say would let things match.
func remedyOf(report string) (flags []string) {
	for line := range strings.Lines(report) {
		if _, said, ok := strings.Cut(strings.TrimSpace(line), "to let it match: "); ok && !slices.Contains(flags, said) {
			flags = append(flags, said)
		}
	}
	return flags
}

// inShell runs a command line as somebody who pastes it.
func inShell(t *testing.T, line string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestRemedies: the flags that drive and diff print, pasted, make the differences go, and
// none of them is said to match nothing.
func TestRemedies(t *testing.T) {
	const none = "none" // nothing is named that would hide a broken answer
	many := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d,", n), 60), ",") + "]"
	}
	for _, tt := range []struct {
		name, was, is string // of the answer, behind the id
		want          string // of the flags
	}{
		{"a place", `"result":{"content":[{"type":"text","text":"alpha"}]}`, `"result":{"content":[{"type":"text","text":"omega"}]}`, "--ignore 'tool:x /result/content/0/text'"},
		{"a text that is JSON", `"result":{"content":[{"type":"text","text":"{\"_\":1,\"b\":[{\"c\":2}]}"}]}`, `"result":{"content":[{"type":"text","text":"{\"_\":2,\"b\":[{\"c\":3}]}"}]}`, "--ignore 'tool:x /result/content/0/text/_' --ignore 'tool:x /result/content/0/text/b/0/c'"},
		{"a text within a text", `"result":{"text":"[\"{\\\"a\\\":1}\"]"}`, `"result":{"text":"[\"{\\\"a\\\":2}\"]"}`, "--ignore 'tool:x /result/text/0/a'"},
		{"a list in a text", `"result":{"text":"[1,2]"}`, `"result":{"text":"[1,3]"}`, "--ignore 'tool:x /result/text/1'"},
		{"a result and an error", `"result":{"content":[]}`, `"error":{"code":1,"message":"no"}`, none},
		{"another error", `"error":{"code":1,"message":"no"}`, `"error":{"code":1,"message":"never"}`, none},
		{"a call that fails", `"result":{"content":[{"type":"text","text":"4"}]}`, `"result":{"content":[{"type":"text","text":"no"}],"isError":true}`, none},
		{"another text of a call that fails", `"result":{"content":[{"type":"text","text":"4"}],"isError":true}`, `"result":{"content":[{"type":"text","text":"5"}],"isError":true}`, "--ignore 'tool:x /result/content/0/text'"},
		{"the whole of a result", `"result":{"a":1,"b":1,"c":1,"d":1,"e":1}`, `"result":{"a":2,"b":2,"c":2,"d":2,"e":2}`, none},
		{"another error at another time", `"error":{"code":1,"message":"at 2026-01-01T00:00:00Z"}`, `"error":{"code":1,"message":"at 2027-01-01T00:00:07Z"}`, "--normalize time"},
		{"names that are hard to spell", `"result":{"a/b":1,"c~d":1,"e'f":1}`, `"result":{"a/b":2,"c~d":2,"e'f":2}`, ""},
		{"a name that cannot be printed", `"result":{"in":{"\u001b[31m":1}}`, `"result":{"in":{"\u001b[31m":2}}`, "--ignore 'tool:x /result/in'"},
		{"a name without letters", `"result":{"":{"":1}}`, `"result":{"":{"":2}}`, "--ignore 'tool:x /result//'"},
		{"a star", `"result":{"*":1,"x":1}`, `"result":{"*":2,"x":1}`, ""},
		{"more of a list", `"result":{"list":["a","b"]}`, `"result":{"list":["a","c","d","b"]}`, "--ignore 'tool:x /result/list/1' --ignore 'tool:x /result/list/2'"},
		{"places of one kind", `"result":{"list":[{"n":1},{"n":1},{"n":1},{"n":1}]}`, `"result":{"list":[{"n":2},{"n":2},{"n":2},{"n":2}]}`, "--ignore 'tool:x /result/list/*/n'"},
		{"places of many kinds", `"result":{"in":{"a":1,"b":1,"c":1,"d":1,"e":1}}`, `"result":{"in":{"a":2,"b":2,"c":2,"d":2,"e":2}}`, "--ignore 'tool:x /result/in'"},
		{"more than are listed", `"result":{"list":` + many(1) + `,"last":1}`, `"result":{"list":` + many(2) + `,"last":2}`, none},
		{"a time", `"result":{"text":"at 2026-01-01T00:00:00Z"}`, `"result":{"text":"at 2027-01-01T00:00:07Z"}`, "--normalize time"},
		{"some normalizers", `"result":{"a":"took 12ms","b":"localhost:4711","c":"2026-01-01T00:00:00Z took 3s"}`, `"result":{"a":"took 13ms","b":"localhost:4712","c":"2027-01-01T00:00:00Z took 4s"}`, "--normalize time,duration,port"},
		{"a place and a time", `"result":{"a":"alpha","b":"took 12ms"}`, `"result":{"a":"omega","b":"took 13ms"}`, "--ignore 'tool:x /result/a' --normalize duration"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, answer string) string {
				path := filepath.Join(dir, name)
				text := `{"mcprec":1,"transport":"stdio"}
{"dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}}
{"dir":"s2c","frame":{"jsonrpc":"2.0","id":1,` + answer + `}}
`
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			a, b := write("a.jsonl", tt.was), write("b.jsonl", tt.is)
			for _, line := range []string{"mcprec diff '%[1]s' '%[2]s'", "mcprec drive '%[1]s' -- mcprec serve '%[2]s'"} {
				line = fmt.Sprintf(line, a, b)
				report, errs, code := inShell(t, line)
				flags := remedyOf(report)
				if tt.want == none {
					if code != 1 || len(flags) > 0 {
						t.Errorf("%s: exit %d, %q in\n%s", line, code, flags, report)
					}
					continue
				}
				if code != 1 || len(flags) != 1 || errs != "" {
					if tt.want == "--normalize time" && code == 0 { // diff knows the clocks
						continue
					}
					t.Fatalf("%s: exit %d, %q in\n%s%s", line, code, flags, report, errs)
				}
				if tt.want != "" && flags[0] != tt.want {
					t.Errorf("%s says %s, want %s", line, flags[0], tt.want)
				}
				command, rest, _ := strings.Cut(strings.TrimPrefix(line, "mcprec "), " ")
				again := "mcprec " + command + " " + flags[0] + " " + rest
				if report, errs, code := inShell(t, again); code != 0 || errs != "" {
					t.Errorf("%s: exit %d\n%s%s", again, code, report, errs)
				}
			}
		})
	}
}
