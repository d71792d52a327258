//go:build unix && night

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// speedFile has how many times as fast as a plain scan each command was when the file was written.
const speedFile = "testdata/speed.txt"

// TestSpeed sets check, state, replay and export, of a file and of the store, beside a scan of the file by
// encoding/json, which decodes the method of each line. Each takes turns with the others in one run, on one core,
// and the processor's time of its fastest turn counts, so that a busy machine changes little. The test fails where
// a command has become slower by a fifth against the scan. -update writes the ratios of this machine.
func TestSpeed(t *testing.T) {
	const turns = 7
	t.Setenv("MCPREC_HOME", t.TempDir())
	t.Setenv("GOMAXPROCS", "1")
	text := callsWithProgress(t, 50_000)
	if out, err := exec.Command("mcprec", "import", text).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	lines := []string{"scan FILE"}
	for _, command := range []string{"check", "state", "replay", "export"} {
		lines = append(lines, command+" FILE", command)
	}
	fastest := map[string]time.Duration{}
	for range turns {
		for _, line := range lines {
			args := strings.Fields(strings.ReplaceAll(line, "FILE", text))
			if args[0] == "scan" {
				args = append([]string{"jsonscan"}, args[1:]...)
			} else {
				args = append([]string{"mcprec"}, args...)
			}
			cmd := exec.Command(args[0], args[1:]...)
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %v", args, err)
			}
			took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			if fastest[line] == 0 || took < fastest[line] {
				fastest[line] = took
			}
		}
	}
	var table bytes.Buffer
	ratios := map[string]float64{}
	for _, line := range lines[1:] {
		ratios[line] = float64(fastest[lines[0]]) / float64(fastest[line])
		fmt.Fprintf(&table, "%-12s %.2f\n", line, ratios[line])
	}
	t.Logf("times as fast as a scan by encoding/json (%v):\n%s", fastest[lines[0]], &table)
	if *update {
		if err := os.WriteFile(speedFile, table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(speedFile)
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(written)) {
		i := strings.LastIndexByte(strings.TrimSpace(row), ' ')
		line := strings.TrimSpace(row[:i])
		was, err := strconv.ParseFloat(strings.TrimSpace(row[i:]), 64)
		if err != nil {
			t.Fatalf("%s: %s: %v", speedFile, row, err)
		}
		if is := ratios[line]; is < 0.8*was {
			t.Errorf("%s is %.2f times as fast as a scan, and was %.2f times", line, is, was)
		}
	}
}

// callsWithProgress writes a session of n calls with two progress notifications each.
func callsWithProgress(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	seq := 1
	add := func(dir, frame string) {
		seq++
		fmt.Fprintf(&b, `{"seq":%d,"at":"%dus","dir":"%s","frame":%s}`+"\n", seq, 10*seq, dir, frame)
	}
	fmt.Fprintln(&b, `{"mcprec":1,"id":"0190aaaa-0000-7000-8000-0000000000ff","start":"2026-01-01T00:00:00Z","command":["server"],"transport":"stdio"}`)
	add("c2s", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"client","version":"1"}}}`)
	add("s2c", `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"server","version":"1"}}}`)
	add("c2s", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	asks, says := strings.Repeat("orders of the north ", 4), strings.Repeat("each customer with an open order ", 4)
	for i := 1; i <= n; i++ {
		add("c2s", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"query":"%s","limit":%d},"_meta":{"progressToken":%d}}}`, i, asks, i%50, i))
		for k := 1; k <= 2; k++ {
			add("s2c", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d,"total":2,"message":"step %d of 2"}}`, i, k, k))
		}
		add("s2c", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}],"isError":false}}`, i, says))
	}
	name := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
