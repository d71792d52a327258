package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// component is a part of a program that others wrote: its name, with the version, and the folder with
// its licence.
type component struct{ name, folder string }

// notices returns the texts that must accompany every copy of the programs of a repository, as the licences
// of their modules demand. Each text stands once, below the names of the modules that have it.
func notices(from string) ([]byte, error) {
	parts, err := modules(from)
	if err != nil {
		return nil, err
	}
	parts = append(parts, component{"preact 11, in the page of mcprec view", filepath.Join(from, "cmd/mcprec/internal/view/page/vendor")})
	names := map[string][]string{} // by the text
	var texts []string             // in the order of the modules
	for _, part := range parts {
		text, err := licenceText(part.folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], part.name)
		if strings.HasPrefix(part.name, "golang.org/x/sys ") { // by the same authors, under the same text
			names[text] = append(names[text], "the standard library of Go")
		}
	}
	var b bytes.Buffer
	b.WriteString("mcprec and mcprec-share are made with the following, under the licences below their names.\n")
	for _, text := range texts {
		slices.Sort(names[text])
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(slices.Compact(names[text]), "\n"), text)
	}
	return b.Bytes(), nil
}

// modules returns the modules of mcprec and mcprec-share on all platforms, in the order of their
// names.
func modules(from string) ([]component, error) {
	const ask = `{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}} {{.Version}}{{"\t"}}{{.Dir}}{{end}}{{end}}`
	found := map[component]bool{}
	for _, program := range []struct{ folder, path string }{{from, "./cmd/mcprec"}, {filepath.Join(from, "store/share"), "./mcprec-share"}} {
		for _, system := range systems {
			for _, arch := range architectures {
				answer, err := output(program.folder, []string{"GOOS=" + system, "GOARCH=" + arch}, "go", "list", "-deps", "-f", ask, program.path)
				if err != nil {
					return nil, err
				}
				for line := range strings.Lines(string(answer)) {
					if name, folder, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
						found[component{name, folder}] = true
					}
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b component) int { return strings.Compare(a.name, b.name) }), nil
}

// licenceText returns the text of the licence files in a folder.
func licenceText(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		contents, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(contents), "\r\n", "\n")))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("no licence in %s", folder)
	}
	return strings.Join(texts, "\n\n"), nil
}
