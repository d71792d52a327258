package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs: every package says what it promises, and every exported name what it
// does.
func TestDocs(t *testing.T) {
	for _, pkg := range strings.Fields(strings.Join(floors, " ")) {
		sources, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
		if err != nil || len(sources) == 0 {
			t.Fatalf("package %s: no sources: %v", pkg, err)
		}
		says, fset := false, token.NewFileSet()
		for _, source := range sources {
			f, err := parser.ParseFile(fset, source, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(source, "_test.go") {
				continue
			}
			says = says || f.Doc != nil
			for _, name := range undocumented(f) {
				t.Errorf("%v: %s has no comment", fset.Position(name.Pos()), name.Name)
			}
		}
		if !says {
			t.Errorf("package %s has no doc", pkg)
		}
	}
}

// undocumented lists the exported names of a file without a comment.
func undocumented(f *ast.File) (names []*ast.Ident) {
	if f.Name.Name == "main" {
		return nil
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && isOfExported(d) {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				names = append(names, bare(d, s)...)
			}
		}
	}
	return names
}

// bare lists the exported names of a declaration that neither it nor its group
// comments on.
func bare(group *ast.GenDecl, s ast.Spec) (names []*ast.Ident) {
	var declared []*ast.Ident
	commented := group.Doc != nil
	switch s := s.(type) {
	case *ast.TypeSpec:
		declared, commented = []*ast.Ident{s.Name}, commented || s.Doc != nil
	case *ast.ValueSpec:
		declared, commented = s.Names, commented || s.Doc != nil || s.Comment != nil
	}
	for _, n := range declared {
		if n.IsExported() && !commented {
			names = append(names, n)
		}
	}
	return names
}

// isOfExported reports whether a function is no method, or one of an exported type.
func isOfExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	name, ok := of.(*ast.Ident)
	return ok && name.IsExported()
}
