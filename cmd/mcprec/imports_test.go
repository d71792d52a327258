package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mcprec/mcprec"

// goSDK is the official SDK.
const goSDK = "github.com/modelcontextprotocol/go-sdk"

// shared are the modules that two packages may import. Zstd is two things: a form of the store's
// own, and a coding that peers choose. A file lock keeps the living spools of the store, and two
// mcprec from editing a client's configuration at once. The SDK is what an adapter is for, and what
// mcprec mcp is made with.
var shared = []string{"github.com/klauspost/compress", "github.com/gofrs/flock", goSDK}

// mayImport is the table of who imports whom: of our packages, and of modules
// outside the standard library. Data goes one way, and so do imports.
var mayImport = map[string][]string{
	"transport":               {"transport/mcp"},
	"transport/mcp":           nil,
	"transport/procfs":        nil,
	"transport/streamable":    {"transport", "transport/mcp"},
	"transport/gosdk":         {"transport", "store", "recorder", goSDK},
	"store":                   {"transport", "transport/procfs", "store/varint"},
	"store/varint":            nil,
	"store/memstore":          {"store", "transport"},
	"store/chunk":             {"store", "store/varint", "github.com/klauspost/compress"},
	"store/boltstore":         {"store", "store/chunk", "store/varint", "transport", "go.etcd.io/bbolt", "github.com/gofrs/flock"},
	"store/storetest":         {"store", "transport"},
	"store/mask":              {"transport/mcp", "store", "transport"},
	"store/httpevent":         {"transport/mcp", "store", "transport/streamable"},
	"store/foreign":           {"store", "store/httpevent", "transport", "transport/streamable", "transport/mcp"},
	"store/jsonl":             {"transport/mcp", "store", "store/foreign", "transport"},
	"recorder":                {"transport/mcp", "store", "transport", "recorder/outage", "github.com/google/uuid", "golang.org/x/sys"},
	"recorder/outage":         {"store"},
	"recorder/httptap":        {"transport/mcp", "store", "store/httpevent", "transport", "transport/streamable", "recorder", "github.com/klauspost/compress", "github.com/andybalholm/brotli"},
	"replay/closed":           {"store", "transport", "transport/mcp", "replay/timeline", "replay/phrase"},
	"replay/timeline":         {"store", "transport", "transport/mcp", "replay/phrase"},
	"replay/match":            {"store", "transport", "transport/mcp", "replay/timeline", "replay/phrase"},
	"replay/standin":          {"store", "transport", "transport/streamable", "transport/mcp", "replay/timeline", "replay/match", "replay/phrase", "replay/fault"},
	"replay/fault":            {"store", "transport", "replay/timeline", "replay/filter", "replay/phrase"},
	"replay/order":            {"transport", "transport/mcp", "replay/phrase"},
	"replay/phrase":           {"github.com/mattn/go-runewidth"},
	"replay/check":            {"transport", "transport/mcp", "store", "replay/closed", "replay/timeline", "replay/why", "replay/order", "replay/schema", "replay/phrase"},
	"replay/schema":           {"transport/mcp", "transport"},
	"replay/summary":          {"store", "transport", "transport/mcp", "replay/timeline", "replay/filter", "replay/phrase", "replay/why"},
	"replay/filter":           {"transport", "transport/mcp", "store", "replay/timeline", "replay/phrase"},
	"replay/sequence":         {"transport/mcp", "transport", "store", "replay/timeline", "replay/phrase"},
	"replay/picture":          {"transport", "store", "replay/timeline", "replay/phrase", "replay/sequence", "replay/state", "replay/diff", "replay/closed"},
	"replay/otlp":             {"transport", "transport/mcp", "store", "replay/timeline"},
	"replay/why":              {"transport", "transport/mcp", "store", "replay/timeline", "replay/phrase"},
	"replay/state":            {"transport", "transport/mcp", "store", "replay/timeline", "replay/filter", "replay/phrase"},
	"replay/surface":          {"transport", "transport/mcp", "store", "replay/timeline", "replay/phrase"},
	"replay/diff":             {"transport", "transport/mcp", "store", "replay/timeline", "replay/match", "replay/phrase"},
	"replay/explore":          {"transport", "transport/mcp", "store", "replay/closed", "replay/timeline", "replay/match", "replay/order", "replay/explore/gate", "replay/explore/halves", "replay/explore/schedule", "replay/explore/hang", "replay/explore/stacks", "replay/explore/shrink", "replay/phrase"},
	"replay/probe":            {"transport", "transport/mcp", "replay/closed", "replay/timeline", "replay/phrase"},
	"replay/external":         {"transport", "transport/mcp", "transport/streamable", "store", "replay/timeline", "replay/match", "replay/phrase", "replay/probe", "replay/standin", "transport/procfs"},
	"replay/explore/gate":     {"transport", "transport/mcp", "transport/streamable", "store", "store/httpevent", "replay/timeline", "replay/order", "replay/explore/stacks", "replay/phrase"},
	"replay/explore/schedule": {"transport", "replay/closed", "replay/explore/gate", "replay/phrase"},
	"replay/explore/stacks":   {"replay/phrase"},
	"replay/explore/halves":   {"transport", "transport/mcp", "transport/streamable", "store", "store/jsonl", "replay/closed", "replay/explore/gate", "replay/match", "replay/phrase", "replay/standin", "replay/timeline"},
	"replay/explore/hang":     {"transport", "replay/closed", "replay/explore/gate", "replay/explore/stacks", "replay/order"},
	"replay/explore/shrink":   {"transport", "transport/mcp", "store", "store/jsonl", "replay/closed", "replay/timeline", "replay/phrase"},
	"fixtures":                {"store", "store/jsonl", "store/memstore", "transport", "recorder", "replay/closed", "replay/match", "replay/standin", "replay/explore", "replay/phrase", "replay/probe", "store/mask"},
	"examples/hang":           {"transport"},
	"examples/zoo":            {"replay/match", "replay/standin", "replay/explore", "replay/external", "fixtures", "store", "store/jsonl", "transport"},
	"examples/zoo/table":      {"examples/zoo"},
	"examples/progress":       {"transport"},

	// The command.
	"cmd/mcprec/internal/agent": {
		"cmd/mcprec/internal/cli", "cmd/mcprec/internal/output", "cmd/mcprec/internal/report", "cmd/mcprec/internal/session", "transport",
		"transport/mcp", "transport/procfs", "store", "store/jsonl", "replay/check", "replay/closed", "replay/diff", "replay/filter",
		"replay/order", "replay/phrase", "replay/state", "replay/timeline", goSDK,
	},
	"cmd/mcprec/internal/cli": {"cmd/mcprec/internal/output", "transport", "store"},
	// It knows files of clients and nothing of sessions.
	"cmd/mcprec/internal/clientconfig": {
		"cmd/mcprec/internal/cli", "github.com/tailscale/hujson", "github.com/pelletier/go-toml/v2", "github.com/gofrs/flock",
	},
	"cmd/mcprec/internal/output": {"replay/phrase", "golang.org/x/term"},
	"cmd/mcprec/internal/recording": {
		"cmd/mcprec/internal/cli", "cmd/mcprec/internal/output", "cmd/mcprec/internal/retention", "cmd/mcprec/internal/session", "transport",
		"transport/mcp", "transport/procfs", "store", "store/jsonl", "store/memstore", "recorder", "recorder/httptap", "recorder/outage",
		"replay/match", "replay/phrase", "replay/standin", "fixtures",
	},
	"cmd/mcprec/internal/report": {
		"cmd/mcprec/internal/output", "cmd/mcprec/internal/session", "transport", "transport/procfs", "store", "replay/check", "replay/closed",
		"replay/diff", "replay/filter", "replay/match", "replay/phrase", "replay/sequence", "replay/summary", "replay/timeline", "replay/why",
	},
	"cmd/mcprec/internal/retention": {"cmd/mcprec/internal/cli", "cmd/mcprec/internal/output", "store", "replay/phrase"},
	"cmd/mcprec/internal/session": {
		"cmd/mcprec/internal/cli", "cmd/mcprec/internal/output", "transport", "transport/mcp", "store", "store/boltstore", "store/foreign",
		"store/jsonl", "store/mask", "replay/filter", "replay/order", "replay/phrase", "replay/state", "replay/summary", "replay/timeline",
	},
	"cmd/mcprec/internal/view": {
		"cmd/mcprec/internal/cli", "cmd/mcprec/internal/report", "cmd/mcprec/internal/session", "transport", "transport/mcp", "store",
		"store/jsonl", "store/mask", "replay/check", "replay/closed", "replay/diff", "replay/explore", "replay/filter", "replay/order",
		"replay/phrase", "replay/picture", "replay/sequence", "replay/state", "replay/timeline", "replay/why",
	},
	"cmd/mcprec": {
		"cmd/mcprec/internal/agent", "cmd/mcprec/internal/cli", "cmd/mcprec/internal/clientconfig", "cmd/mcprec/internal/output",
		"cmd/mcprec/internal/recording", "cmd/mcprec/internal/report", "cmd/mcprec/internal/retention", "cmd/mcprec/internal/session",
		"cmd/mcprec/internal/view", "transport", "transport/mcp", "transport/streamable", "store", "store/foreign", "store/jsonl", "store/mask",
		"recorder", "replay/check", "replay/closed", "replay/diff", "replay/explore", "replay/explore/shrink", "replay/external", "replay/fault",
		"replay/filter", "replay/match", "replay/order", "replay/otlp", "replay/phrase", "replay/probe", "replay/schema", "replay/sequence",
		"replay/standin", "replay/state", "replay/summary", "replay/surface", "replay/timeline", "replay/why", "fixtures", "examples/progress",
		"github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"replay/internal/replaytest": {"transport/mcp", "store", "transport"},
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	importers := map[string][]string{} // outside module → packages
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; seen++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, ok := mayImport[name]
		if !ok {
			t.Errorf("package %s is not in the table", name)
		}
		for _, imported := range p.Imports {
			if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
				continue // the standard library
			}
			what := strings.TrimPrefix(imported, module+"/")
			if what == imported {
				what = outside(allowed, imported)
				// An example shows what a user writes, so it is one more user.
				if !strings.HasPrefix(name, "examples/") && !slices.Contains(importers[what], name) {
					importers[what] = append(importers[what], name)
				}
			}
			if !slices.Contains(allowed, what) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	if seen < len(mayImport) {
		t.Errorf("go list names %d packages, the table %d", seen, len(mayImport))
	}
	for mod, by := range importers {
		if len(by) > 1 && !slices.Contains(shared, mod) {
			t.Errorf("module %s is imported by %v, not by one package", mod, by)
		}
	}
}

// TestPure: the packages that promise it do no I/O, ask no clock and start no goroutine.
func TestPure(t *testing.T) {
	impure := []string{"context", "io", "net", "net/http", "os", "os/exec", "sync", "syscall", module + "/transport/streamable"}
	clock := []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"}
	for _, dir := range []string{"replay/closed", "replay/timeline", "replay/match", "replay/why", "replay/picture"} {
		paths, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(paths), err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: starts a goroutine", set.Position(n.Pos()))
				case *ast.ImportSpec:
					if name, _ := strconv.Unquote(n.Path.Value); slices.Contains(impure, name) {
						t.Errorf("%s: imports %s", set.Position(n.Pos()), name)
					}
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						t.Errorf("%s: asks the clock", set.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// TestNoSDK: a test that imports fixtures has no SDK in it, and the command has one only for
// mcprec mcp.
func TestNoSDK(t *testing.T) {
	for root, mayHave := range map[string]string{"fixtures": "", "cmd/mcprec": goSDK} {
		out, err := exec.Command("go", "list", "-deps", module+"/"+root).Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		if !slices.Contains(deps, module+"/replay/explore") {
			t.Errorf("go list names %d packages, replay/explore not among them", len(deps))
		}
		for _, pkg := range deps {
			isSDK := strings.HasPrefix(pkg, "github.com/modelcontextprotocol/") || strings.HasPrefix(pkg, "github.com/mark3labs/") || pkg == module+"/transport/gosdk"
			if isSDK && (mayHave == "" || !strings.HasPrefix(pkg, mayHave+"/")) {
				t.Errorf("%s depends on %s", root, pkg)
			}
		}
	}
}

// TestUserModule: a module whose tests load a fixture needs no SDK, by the word of
// go mod why.
func TestUserModule(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       fmt.Sprintf("module user\n\ngo 1.25.0\n\nrequire %[1]s v0.0.0\n\nreplace %[1]s => %[2]q\n", module, root),
		"go.sum":       string(sums),
		"user_test.go": fmt.Sprintf("package user\n\nimport %q\n\nvar _ = fixtures.Load\n", module+"/fixtures"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for of, needed := range map[string]bool{
		"github.com/modelcontextprotocol/go-sdk": false, "github.com/spf13/cobra": false, "github.com/google/uuid": true,
	} {
		cmd := exec.Command("go", "mod", "why", "-m", of)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PWD="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go mod why: %v\n%s", err, out)
		}
		if strings.Contains(string(out), "does not need module") == needed {
			t.Errorf("is %s needed: want %t\n%s", of, needed, out)
		}
	}
}

// outside returns the allowed module that a package belongs to, or the package.
func outside(allowed []string, pkg string) string {
	for _, m := range allowed {
		if pkg == m || strings.HasPrefix(pkg, m+"/") {
			return m
		}
	}
	return pkg
}

// TestDependencies: the table in docs/dependencies.md names each module that go.mod requires, and no
// other.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	_, table, found := strings.Cut(string(text), "\n| module ")
	if !found {
		t.Fatal("docs/dependencies.md has no table of modules")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|[^|]+\\| .{10,} \\|$").FindAllStringSubmatch(table, -1) {
		named[row[1]] = true
	}
	out, err := exec.Command("go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if !r.Indirect && !named[r.Path] {
			t.Errorf("docs/dependencies.md does not say why %s is needed", r.Path)
		}
		delete(named, r.Path)
	}
	for path := range named {
		t.Errorf("docs/dependencies.md names %s, which go.mod does not require", path)
	}
}

// TestNoC: nothing but the standard library could want a C compiler, and that needs none
// with CGO_ENABLED=0: the command is one static file.
func TestNoC(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{.Standard}} {{.ImportPath}} {{len .CgoFiles}} {{len .SwigFiles}}", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 100 {
		t.Fatalf("go list names %d packages", len(lines))
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "false ") && !strings.HasSuffix(line, " 0 0") {
			t.Errorf("uses C: %s", line)
		}
	}
}

// TestModules: what is published can be required by version. The module replaces nothing, and no
// module below it asks for a version that never was; each that replaces ours by a folder says why.
func TestModules(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".mod") {
			return err
		}
		seen++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			words := strings.Fields(line)
			if path == "../../go.mod" && len(words) > 0 && (words[0] == "replace" || words[0] == "exclude") {
				t.Errorf("%s: %q counts in a clone only: who requires the module does not have it", path, line)
			}
			if len(words) == 2 && strings.HasPrefix(words[0], module) && strings.HasPrefix(words[1], "v0.0.0") {
				t.Errorf("%s: there is no %s: require a release", path, line)
			}
			if strings.HasPrefix(line, "replace "+module+" ") && !strings.HasPrefix(lines[i-1], "// ") {
				t.Errorf("%s: no comment says why it replaces %s", path, module)
			}
		}
		return nil
	})
	if err != nil || seen < 30 {
		t.Fatalf("%d modules, %v", seen, err)
	}
}
