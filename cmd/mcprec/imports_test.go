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

// floors lists the packages from the ground up: a package imports only what stands on a lower line. Data
// goes one way, and so do imports. A new package goes on the lowest line on which this test passes.
var floors = []string{
	"transport/acp transport/mcp transport/procfs transport/phrase store/varint replay/internal/interrupt",
	"transport transport/lastwords transport/leftover replay/explore/stacks cmd/mcprec/internal/output",
	"replay/external/sourceline store transport/framing transport/streamable replay/schema examples/hang examples/progress",
	"replay/external/child store/chunk store/httpevent store/mask store/mask/masktest store/memstore store/storetest recorder/outage replay/timeline replay/internal/replaytest cmd/mcprec/internal/cli",
	"store/boltstore store/foreign recorder replay/closed replay/filter replay/match replay/order replay/otlp replay/sequence replay/surface replay/why replay/workload cmd/mcprec/internal/clientconfig cmd/mcprec/internal/releases cmd/mcprec/internal/retention",
	"store/jsonl recorder/httptap transport/gosdk replay/diff replay/running replay/fault replay/probe replay/state replay/summary replay/explore/gate",
	"replay/check replay/picture replay/standin replay/explore/hang replay/explore/schedule replay/explore/shrink cmd/mcprec/internal/session",
	"replay/external/incoming replay/external/webserver",
	"replay/external replay/explore/halves",
	"replay/explore cmd/mcprec/internal/report",
	"fixtures cmd/mcprec/internal/agent cmd/mcprec/internal/view",
	"cmd/mcprec/internal/recording examples/zoo",
	"cmd/mcprec examples/zoo/table",
}

// apart are folders of which the first imports nothing below the second, whatever the floors are.
var apart = [][2]string{
	{"recorder", "replay"}, {"replay", "recorder"}, {"store", "replay"}, {"store", "recorder"}, {"cmd/mcprec/internal/clientconfig", "store"},
}

// importers are the modules outside the standard library, each with the packages that may import it.
var importers = map[string]string{
	"github.com/andybalholm/brotli":   "recorder/httptap",
	"github.com/gofrs/flock":          "store/boltstore cmd/mcprec/internal/clientconfig", // living spools; two mcprec that edit one file
	"github.com/google/uuid":          "recorder",
	"github.com/klauspost/compress":   "store/chunk recorder/httptap", // the store's own form; a coding that peers choose
	"github.com/mattn/go-runewidth":   "transport/phrase",
	goSDK:                             "transport/gosdk cmd/mcprec/internal/agent", // what the adapter is for; what mcprec mcp is made with
	"github.com/pelletier/go-toml/v2": "cmd/mcprec/internal/clientconfig",
	"github.com/spf13/cobra":          "cmd/mcprec",
	"github.com/spf13/pflag":          "cmd/mcprec",
	"github.com/tailscale/hujson":     "cmd/mcprec/internal/clientconfig",
	"go.etcd.io/bbolt":                "store/boltstore",
	"golang.org/x/sys":                "recorder",
	"golang.org/x/term":               "cmd/mcprec/internal/output",
}

func TestImports(t *testing.T) {
	floorOf := map[string]int{}
	for floor, names := range floors {
		for _, name := range strings.Fields(names) {
			floorOf[name] = floor + 1
		}
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
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
		if floorOf[name] == 0 {
			t.Errorf("package %s has no floor", name)
		}
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			switch first, _, _ := strings.Cut(imported, "/"); {
			case isOurs:
				if floorOf[ours] >= floorOf[name] {
					t.Errorf("%s, on floor %d, imports %s, on floor %d", name, floorOf[name], ours, floorOf[ours])
				}
				if slices.ContainsFunc(apart, func(pair [2]string) bool {
					return isBelow(name, pair[0]) && isBelow(ours, pair[1])
				}) {
					t.Errorf("%s imports %s", name, ours)
				}
			case strings.Contains(first, ".") && !strings.HasPrefix(name, "examples/"): // an example shows what a user writes
				of := ""
				for m, by := range importers {
					if isBelow(imported, m) {
						of = by
					}
				}
				if !slices.Contains(strings.Fields(of), name) {
					t.Errorf("%s imports %s", name, imported)
				}
			}
		}
	}
	if seen < len(floorOf) {
		t.Errorf("go list names %d packages, the floors %d", seen, len(floorOf))
	}
}

// isBelow reports whether a package is in a folder.
func isBelow(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// TestPure: the packages that promise it do no I/O, ask no clock, start no goroutine and wait for
// none. A context may end their work: they ask whether it is over.
func TestPure(t *testing.T) {
	impure := []string{"io", "net", "net/http", "os", "os/exec", "sync", "syscall", module + "/transport/streamable"}
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
				case *ast.UnaryExpr:
					if n.Op == token.ARROW {
						t.Errorf("%s: waits for a goroutine", set.Position(n.Pos()))
					}
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
