package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dearAtStart are packages of the official SDK, for mcprec mcp. Together they take a quarter of a millisecond
// before main. Only a program of its own would spare the others that.
var dearAtStart = []string{"github.com/google/jsonschema-go/jsonschema", "github.com/modelcontextprotocol/go-sdk/mcp"}

// TestStart: no package does more than a little work before main, where it would cost
// each command, whether it uses the package or not.
func TestStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcprec")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(path, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mcprec version: %v\n%s", err, trace)
	}
	inits := regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, (\d+) allocs$`).FindAllStringSubmatch(string(trace), -1)
	if len(inits) < 10 {
		t.Fatalf("%d packages:\n%s", len(inits), trace)
	}
	for _, init := range inits {
		bytes, _ := strconv.Atoi(init[2])
		allocations, _ := strconv.Atoi(init[3])
		first, _, _ := strings.Cut(init[1], "/")
		ours := strings.Contains(first, ".") || first == "main"
		if ours && !slices.Contains(dearAtStart, init[1]) && (bytes > 20_000 || allocations > 100) {
			t.Errorf("%s allocates %d times, %d bytes", init[1], allocations, bytes)
		}
	}
}
