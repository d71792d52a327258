package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mostFiles is how many files a package may have beside its tests. The program's own has a file for each
// command, or for two of one topic.
const mostFiles, mostOfProgram = 20, 30

// protocolWords is the directory of the package that spells the protocol's words.
const protocolWords = "transport/mcp"

// TestPackages: no package has more files than a reader can take in, and a word of the
// protocol is spelled in transport/mcp alone. Examples are no part of it: they show what
// a user writes.
func TestPackages(t *testing.T) {
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	for _, top := range []string{"cmd", "fixtures", "recorder", "replay", "store", "transport"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			dir, _ := filepath.Rel("../..", filepath.Dir(path))
			dir = filepath.ToSlash(dir)
			packages[dir] = append(packages[dir], file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	words := wordsOf(packages[protocolWords])
	if len(words) < 60 || words["tools/call"] != "MethodCallTool" {
		t.Fatalf("%s has %d words: %v", protocolWords, len(words), words)
	}
	for dir, list := range packages {
		most := mostFiles
		if dir == "cmd/mcprec" {
			most = mostOfProgram
		}
		if len(list) > most {
			t.Errorf("package %s has %d files, more than %d", dir, len(list), most)
		}
		for _, file := range list {
			for _, word := range spelled(file, words) {
				if dir != protocolWords {
					t.Errorf("%s: %s is mcp.%s", files.Position(word.Pos()), word.Value, words[unquoted(word)])
				}
			}
		}
	}
}

// TestToAddOne: the places that CONTRIBUTING.md names for «To add one», and no others, say how.
func TestToAddOne(t *testing.T) {
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n«To add one» stands")
	named := map[string]bool{}
	for _, path := range regexp.MustCompile("`([a-z/]+\\.(?:go|txt))`").FindAllStringSubmatch(table, -1) {
		named[path[1]] = true
	}
	says := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".txt") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		has := bytes.Contains(text, []byte("To add one"))
		name, _ := filepath.Rel("../..", path)
		if name = filepath.ToSlash(name); has != named[name] {
			t.Errorf("%s says «To add one»: %t; CONTRIBUTING.md: %t", name, has, named[name])
		}
		if has {
			says++
		}
		return err
	})
	if err != nil || says != len(named) {
		t.Errorf("CONTRIBUTING.md names %d files, %d of which are there; %v", len(named), says, err)
	}
}

// TestSpelled: which literals count as a word of the protocol.
func TestSpelled(t *testing.T) {
	words := map[string]string{"tools/call": "MethodCallTool", "progressToken": "MemberProgressToken"}
	for source, want := range map[string][]string{
		`const call = "tools/call"`:                                    {`"tools/call"`},
		"var call = `tools/call`":                                      {"`tools/call`"},
		`var found = bytes.Contains(b, []byte("progressToken"))`:       {`"progressToken"`},
		`var path = []string{"params", "progressToken", "tools/call"}`: {`"progressToken"`, `"tools/call"`},
		`var call = mcp.MethodCallTool // "tools/call"`:                nil,
		`var help = "such as tools/call"`:                              nil,
		"type params struct { Token string `json:\"progressToken\"` }": nil,
		"var message = `{\"method\":\"tools/call\"}`":                  nil,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+source, 0)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		var got []string
		for _, word := range spelled(file, words) {
			got = append(got, word.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// wordsOf returns the exported constants of a package that are strings: text to name.
func wordsOf(files []*ast.File) map[string]string {
	words := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !spec.Names[0].IsExported() || len(spec.Values) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				words[unquoted(literal)] = spec.Names[0].Name
			}
			return true
		})
	}
	return words
}

// spelled returns the string literals of a file that are a word and nothing else.
func spelled(file *ast.File, words map[string]string) (found []*ast.BasicLit) {
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && words[unquoted(literal)] != "" {
			found = append(found, literal)
		}
		return true
	})
	return found
}

// unquoted returns the text of a string literal.
func unquoted(literal *ast.BasicLit) string {
	text, _ := strconv.Unquote(literal.Value)
	return text
}
