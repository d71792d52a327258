package sourceline

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed preload.cjs
var preload []byte

//go:embed sitecustomize.py
var sitecustomize []byte

// Variable names the folder in which programs answer. It is in no environment but theirs.
const Variable = "MCPREC_SOURCE_LINES"

// Means is what a program is started with so that it can be asked. [Prepare] makes it.
type Means struct{ folder string }

// Prepare writes what programs load into a folder.
func Prepare(folder string) (*Means, error) {
	for name, text := range map[string][]byte{"preload.cjs": preload, "sitecustomize.py": sitecustomize} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("prepare to ask for lines of source: %w", err)
		}
	}
	return &Means{folder}, nil
}

// Environ returns an environment with the means. The caller's own options stay.
func (m *Means) Environ(environ []string) []string {
	add := map[string]func(old string) string{
		"NODE_OPTIONS": func(old string) string {
			path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.Join(m.folder, "preload.cjs"))
			return strings.TrimSpace(old + ` --enable-source-maps --require "` + path + `"`)
		},
		"PYTHONPATH": func(old string) string {
			return strings.TrimSuffix(m.folder+string(filepath.ListSeparator)+old, string(filepath.ListSeparator))
		},
		"GOTRACEBACK": func(string) string { return "all" },
		Variable:      func(string) string { return m.folder },
	}
	var list []string
	last := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if add[name] == nil {
			list = append(list, entry)
		}
		last[name] = value // the last one counts
	}
	for _, name := range []string{"NODE_OPTIONS", "PYTHONPATH", "GOTRACEBACK", Variable} {
		list = append(list, name+"="+add[name](last[name]))
	}
	return list
}
