package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mcprec/mcprec"

// mayImport is the table of who imports whom: of our packages, and of modules
// outside the standard library. Data goes one way, and so do imports.
var mayImport = map[string][]string{
	"transport":             nil,
	"transport/gosdk":       {"transport", "store", "recorder", "github.com/modelcontextprotocol/go-sdk"},
	"store":                 {"transport"},
	"store/memstore":        {"store", "transport"},
	"store/boltstore":       {"store", "transport", "go.etcd.io/bbolt", "github.com/klauspost/compress", "github.com/gofrs/flock"},
	"store/storetest":       {"store", "transport"},
	"recorder":              {"store", "transport", "github.com/google/uuid"},
	"replay":                {"store", "transport"},
	"replay/order":          {"transport"},
	"replay/explore":        {"transport", "store", "replay", "replay/order", "replay/explore/shrink"},
	"replay/explore/shrink": {"transport", "store", "replay"},
	"fixtures":              {"store", "store/memstore", "transport", "recorder", "replay", "replay/explore"},
	"examples/gosdk":        nil,
	"examples/hang":         {"transport"},
	"examples/zoo":          {"replay/explore", "fixtures", "store", "transport"},
	"examples/zoo/table":    {"examples/zoo"},
	"examples/progress":     {"transport"},
	"cmd/mcprec": {"transport", "store", "store/boltstore", "recorder", "replay", "replay/explore", "replay/explore/shrink", "fixtures", "examples/progress",
		"github.com/spf13/cobra"},
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
		if len(by) > 1 {
			t.Errorf("module %s is imported by %v, not by one package", mod, by)
		}
	}
}

// TestNoSDK: neither the command nor a test that imports fixtures has an SDK in it.
func TestNoSDK(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/mcprec", module+"/fixtures").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/replay/explore") {
		t.Errorf("go list names %d packages, replay/explore not among them", len(deps))
	}
	for _, pkg := range deps {
		if strings.HasPrefix(pkg, "github.com/modelcontextprotocol/") || strings.HasPrefix(pkg, "github.com/mark3labs/") {
			t.Errorf("the command or fixtures depends on %s", pkg)
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
