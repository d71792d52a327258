package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// eventTakers are the types of replay and cmd with a method that takes a store.Event. Each is a model of
// what passed, or has the events themselves to write or to mask: a view takes the steps of a model.
var eventTakers = map[string]string{
	"replay/timeline.Model":              "makes the steps",
	"replay/timeline.Mask":               "masks",
	"replay/explore/gate.session":        "has the model of a run",
	"replay/standin.exchanges":           "has the bytes of HTTP that are to be played again",
	"replay/picture.Range":               "makes rows in the middle of a session, with the links that the Index had from the model",
	"cmd/mcprec.filteredLog":             "writes the events that fit",
	"cmd/mcprec/internal/view.index":     "has the model of the session that the page shows",
	"cmd/mcprec/internal/view.source":    "masks",
	"cmd/mcprec/internal/session.Masker": "masks",
}

// TestStepReaders: a session is read once, by the Model. A type that takes the events themselves keeps an
// index of its own, and some day disagrees with the others about who is open.
func TestStepReaders(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, folder := range []string{"replay", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			in, err := filepath.Rel(root, filepath.Dir(path))
			for _, d := range file.Decls {
				if method, isFunc := d.(*ast.FuncDecl); isFunc && method.Recv != nil && takesEvent(method) {
					name := filepath.ToSlash(in) + "." + receiverOf(method)
					if eventTakers[name] == "" {
						t.Errorf("%s: %s takes a store.Event; a view takes the timeline.Step of it", name, method.Name.Name)
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// takesEvent reports whether a parameter of a method is a store.Event.
func takesEvent(method *ast.FuncDecl) bool {
	for _, field := range method.Type.Params.List {
		if selector, ok := field.Type.(*ast.SelectorExpr); ok && selector.Sel.Name == "Event" {
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "store" {
				return true
			}
		}
	}
	return false
}

// receiverOf returns the name of the type that a method is of.
func receiverOf(method *ast.FuncDecl) string {
	of := method.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
