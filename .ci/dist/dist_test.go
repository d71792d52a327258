package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNpm: a package is installed on its platform only, the launcher depends on each of them, and
// nothing runs at the installation.
func TestNpm(t *testing.T) {
	files, err := npmFiles("0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]npmPackage{}
	for name, contents := range files {
		if folder, file := filepath.Split(name); file == "package.json" {
			var p npmPackage
			var scripts struct{ Scripts any }
			if err := json.Unmarshal(contents, &p); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(contents, &scripts); err != nil || scripts.Scripts != nil || p.Version != "0.1.0" {
				t.Errorf("%s: %v\n%s", name, err, contents)
			}
			packages[filepath.Base(folder)] = p
		}
	}
	if p := packages["windows_amd64"]; p.Name != "@mcprec/win32-x64" || !slices.Equal(p.Systems, []string{"win32"}) || !slices.Equal(p.Architectures, []string{"x64"}) {
		t.Errorf("for Windows on amd64: %+v", p)
	}
	launcher := packages["launcher"]
	if len(packages) != 7 || len(launcher.Optional) != 6 || launcher.Program["mcprec"] != "launcher.js" || launcher.Systems != nil {
		t.Errorf("%d packages, of which the launcher depends on %v: %+v", len(packages), launcher.Optional, launcher)
	}
	for folder, p := range packages {
		if folder != "launcher" && launcher.Optional[p.Name] != "0.1.0" {
			t.Errorf("the launcher does not depend on %s", p.Name)
		}
	}

	// A registry of MCP servers takes a package that names its server.
	text, err := os.ReadFile("../../docs/agents/server.json")
	if err != nil {
		t.Fatal(err)
	}
	var server struct {
		Name     string
		Packages []struct{ Identifier string }
	}
	if err := json.Unmarshal(text, &server); err != nil {
		t.Fatal(err)
	}
	if server.Name != launcher.MCPName || server.Packages[0].Identifier != launcher.Name {
		t.Errorf("docs/agents/server.json is of %s in %s, the package of %s in %s", server.Name, server.Packages[0].Identifier, launcher.MCPName, launcher.Name)
	}
}

// TestNotices: each text stands once, below all that it is for: modules of either program and of any
// system, the standard library, and what the page is made of.
func TestNotices(t *testing.T) {
	got, err := notices("../..")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(got), "\n"+strings.Repeat("=", 80)+"\n")
	version := regexp.MustCompile(` v\d.*`)
	texts := map[string]bool{}
	below := map[string]string{} // the text of a name, without its version
	for _, part := range parts[1:] {
		names, text, _ := strings.Cut(part, "\n\n")
		if texts[text] {
			t.Errorf("the text for %s stands twice", names)
		}
		texts[text] = true
		for _, name := range strings.Split(names, "\n") {
			below[version.ReplaceAllString(name, "")] = text
		}
	}
	for name, want := range map[string]string{
		"golang.org/x/sys":                      "Redistribution and use in source and binary forms",
		"the standard library of Go":            "Redistribution and use in source and binary forms",
		"github.com/nats-io/nats.go":            "Apache License",
		"github.com/inconshreveable/mousetrap":  "Apache License", // on Windows only
		"preact 11, in the page of mcprec view": "Permission is hereby granted, free of charge",
	} {
		if !strings.Contains(below[name], want) {
			t.Errorf("no %q for %s in\n%s", want, name, below[name])
		}
	}
	if names := strings.Join(parts, "\n"); strings.Contains(names, "github.com/mcprec/mcprec ") {
		t.Error("mcprec is a third party")
	}
}

// TestLicence: every file that is a licence counts, however it is spelled, and a module without one
// is an error.
func TestLicence(t *testing.T) {
	folder := t.TempDir()
	for name, contents := range map[string]string{"NOTICE": "As you like.\r\n", "COPYING.txt": "Take it.", "main.go": "package main"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := licenceText(folder); got != "Take it.\n\nAs you like." {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := licenceText(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no licence in") {
		t.Errorf("without a licence: %v", err)
	}
}
