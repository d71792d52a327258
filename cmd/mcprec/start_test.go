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

// dearAtStart are packages of the official SDK, for mcprec mcp, of the client of NATS, for shared stores,
// and of the client of S3, for archives. Together they take about a millisecond before main: a quarter
// the SDK, a quarter NATS, half S3. Only programs of their own would spare the others that.
var dearAtStart = []string{
	"github.com/google/jsonschema-go/jsonschema", "github.com/modelcontextprotocol/go-sdk/mcp",
	"github.com/nats-io/nats%2ego", "github.com/nats-io/nats.go/jetstream", "github.com/klauspost/compress/flate",
	"github.com/minio/minio-go/v7", "github.com/minio/minio-go/v7/pkg/s3utils", "github.com/dustin/go-humanize", "go.yaml.in/yaml/v3",
}

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
