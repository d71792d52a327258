package main

import (
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPageCode: the Go in the README and the pages is code that compiles. A block that begins with
// package is a file of a module of its own, and what the blocks of go-test.md have as tests passes there;
// any other block stands in a file of the project, except for what comments cut out with an ellipsis.
func TestPageCode(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := projectCode(t)
	files, pieces := map[string]string{}, 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range regexp.MustCompile("(?s)\n```go\n(.*?\n)```\n").FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(block[1], "package ") {
				folder := strings.TrimSuffix(filepath.Base(page), ".md")
				files[fmt.Sprintf("%s/block%d_test.go", folder, i)] = block[1]
				if formatted, err := format.Source([]byte(block[1])); err != nil || string(formatted) != block[1] {
					t.Errorf("%s, block %d is not as gofmt has it: %v", page, i+1, err)
				}
				continue
			}
			for _, piece := range regexp.MustCompile(`(?m)^\s*// ….*\n`).Split(block[1], -1) {
				pieces++
				if !strings.Contains(sources, oneSpaced(piece)) {
					t.Errorf("%s: no file of the project has the code\n%s", page, piece)
				}
			}
		}
	}
	if len(files) < 2 || pieces < 3 {
		t.Errorf("%d blocks of the pages are files, %d pieces of code: too few", len(files), pieces)
	}
	module := pageModule(t, files)
	for _, args := range [][]string{{"vet", "-mod=mod", "./..."}, {"test", "-mod=mod", "./go-test"}, {"test", "-mod=mod", "./go-test"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = module
		cmd.Env = append(os.Environ(), "MCPREC_HOME="+t.TempDir(), "GOWORK=off", "GOFLAGS=", "MCPREC_MODE=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(module, "go-test/testdata/count.jsonl")); err != nil {
		t.Errorf("the first run kept no session: %v", err)
	}
}

// pageModule makes a module with these files, which requires this project from its folder.
func pageModule(t *testing.T, files map[string]string) string {
	module := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	files["go.sum"] = string(sums)
	files["go.mod"] = fmt.Sprintf("module pages\n\ngo 1.25.0\n\nrequire github.com/mcprec/mcprec v0.1.0\n\nreplace github.com/mcprec/mcprec => %q\n", root)
	for name, text := range files {
		path := filepath.Join(module, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return module
}

// projectCode returns the Go of the examples and of the fixtures, with one blank in place of any white space.
func projectCode(t *testing.T) string {
	var code strings.Builder
	for _, top := range []string{"examples", "fixtures"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			code.WriteString(oneSpaced(string(text)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return code.String()
}

// oneSpaced returns code without its comments at ends of lines and with one blank in place of any white space.
func oneSpaced(code string) string {
	code = regexp.MustCompile(`(?m)\s// .*$`).ReplaceAllString(code, "")
	return strings.Join(strings.Fields(code), " ")
}
