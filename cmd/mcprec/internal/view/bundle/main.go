package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// The folders, as seen from this module.
const (
	sources = "../page"
	dist    = "../dist"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// write makes dist of the sources.
func write() error {
	files, err := build()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, contents := range files {
		if err := os.WriteFile(filepath.Join(dist, name), contents, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s %d B\n", name, len(contents))
	}
	return nil
}

// build returns the files of dist by name: view.js and view.css.
func build() (map[string][]byte, error) {
	licence, err := os.ReadFile(filepath.Join(sources, "vendor", "LICENSE.preact"))
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{sources + "/view.jsx", sources + "/view.css"},
		Outdir:      dist,
		Bundle:      true,

		Format:        api.FormatESModule,
		Target:        api.ES2022,
		Charset:       api.CharsetUTF8,
		LegalComments: api.LegalCommentsEndOfFile,
		// preact carries no comment of its own, and its licence wants to go with each copy.
		Footer: map[string]string{"js": fmt.Sprintf("/*! preact, preact/hooks\n\n%s*/", licence)},

		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,

		JSX:         api.JSXTransform,
		JSXFactory:  "h",
		JSXFragment: "Fragment",
		Alias: map[string]string{
			"preact":       sources + "/vendor/preact.mjs",
			"preact/hooks": sources + "/vendor/hooks.mjs",
		},
	})
	var faults []error
	for _, message := range append(result.Errors, result.Warnings...) {
		place := ""
		if l := message.Location; l != nil {
			place = fmt.Sprintf("%s:%d:%d: ", l.File, l.Line, l.Column)
		}
		faults = append(faults, errors.New(place+message.Text))
	}
	files := map[string][]byte{}
	for _, file := range result.OutputFiles {
		files[filepath.Base(file.Path)] = file.Contents
	}
	return files, errors.Join(faults...)
}
