package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// component is a part of a program that others wrote.
type component struct {
	Path, Version string
	Sum           string // of go.sum, or ""
	Text          string // of its licence
}

// pageLicence is the licence of preact, from which the page of mcprec view is made.
const pageLicence = "cmd/mcprec/internal/view/page/vendor/LICENSE.preact"

// componentsOf returns the modules in a program, the standard library and what the page is made
// of. folders are where the modules' sources are, and source is the folder of our own.
func componentsOf(info *debug.BuildInfo, folders map[string]string, source string) (parts []component, err error) {
	for _, dep := range info.Deps {
		licence, err := licenceText(folders[dep.Path])
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", dep.Path, err)
		}
		parts = append(parts, component{dep.Path, dep.Version, dep.Sum, licence})
		if dep.Path == "golang.org/x/sys" { // by the same authors, under the same text
			parts = append(parts, component{"std", strings.TrimPrefix(info.GoVersion, "go"), "", licence})
		}
	}
	page, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(pageLicence)))
	if err != nil {
		return nil, err
	}
	parts = append(parts, component{"preact", "11", "", string(page)})
	if !slices.ContainsFunc(parts, func(c component) bool { return c.Path == "std" }) {
		return nil, fmt.Errorf("the program has no golang.org/x/sys: find the licence of the standard library elsewhere")
	}
	return parts, nil
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

// notices returns what the licences ask to go with every copy: each text once, below the names
// of the components that it is for.
func notices(parts []component) []byte {
	names := map[string][]string{}
	var order []string
	for _, c := range parts {
		if names[c.Text] == nil {
			order = append(order, c.Text)
		}
		names[c.Text] = append(names[c.Text], c.Path+" "+c.Version)
	}
	var b bytes.Buffer
	b.WriteString("mcprec is made with the following, under the licences below their names.\n")
	for _, licence := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(names[licence], "\n"), licence)
	}
	return b.Bytes()
}

// licences are the SPDX names of licences, and a phrase that only the text of one has.
var licences = []struct{ name, phrase string }{
	{"MIT", "Permission is hereby granted, free of charge"},
	{"Apache-2.0", "Apache License Version 2.0"},
	{"BSD-3-Clause", "Redistribution and use in source and binary forms"},
	{"ISC", "Permission to use, copy, modify, and/or distribute"},
}

// licenceName returns the SPDX expression for a text, which may hold several licences.
func licenceName(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var found []string
	for _, l := range licences {
		if strings.Contains(text, l.phrase) {
			found = append(found, l.name)
		}
	}
	if len(found) == 0 {
		return "NOASSERTION"
	}
	return strings.Join(found, " AND ")
}

// The following are the parts of an SPDX 2.3 document (spdx.github.io/spdx-spec/v2.3) that ours
// has.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		Licence       string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		Name      string          `json:"name"`
		ID        string          `json:"SPDXID"`
		Version   string          `json:"versionInfo"`
		Download  string          `json:"downloadLocation"`
		Analyzed  bool            `json:"filesAnalyzed"`
		Concluded string          `json:"licenseConcluded"`
		Declared  string          `json:"licenseDeclared"`
		Copyright string          `json:"copyrightText"`
		Comment   string          `json:"comment,omitempty"`
		Sums      []spdxSum       `json:"checksums,omitempty"`
		Purpose   string          `json:"primaryPackagePurpose"`
		Refs      []spdxReference `json:"externalRefs,omitempty"`
	}
	spdxSum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// notOfAnID matches what an SPDX identifier may not have.
var notOfAnID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// contentsOf returns the SPDX document of a program: the program with its checksum, and what it is
// made of.
func contentsOf(name string, b builtProgram, version string, parts []component, when time.Time) ([]byte, error) {
	sum := fmt.Sprintf("%x", sha256.Sum256(b.Contents))
	main := spdxPackage{
		Name: "mcprec", ID: "SPDXRef-mcprec", Version: version, Purpose: "APPLICATION",
		Comment: "the program " + b.fileName() + " for " + b.System + " on " + b.Arch,
		Sums:    []spdxSum{{"SHA256", sum}},
		Refs:    []spdxReference{purl("pkg:golang/github.com/mcprec/mcprec@" + b.Info.Main.Version)},
	}
	main.described("MIT", "Copyright (c) 2026 The mcprec authors")
	doc := spdxDocument{
		Version: "SPDX-2.3", Licence: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace:     "https://github.com/mcprec/mcprec/spdx/" + name + "-" + sum,
		Creation:      spdxCreation{when.UTC().Format(time.RFC3339), []string{"Tool: mcprec-dist"}},
		Packages:      []spdxPackage{main},
		Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}},
	}
	for _, c := range parts {
		p := spdxPackage{
			Name: c.Path, ID: "SPDXRef-" + notOfAnID.ReplaceAllString(c.Path+"-"+c.Version, "-"), Version: c.Version, Purpose: "LIBRARY",
		}
		switch {
		case c.Path == "preact":
			p.Comment = "bundled into the page of mcprec view"
		case c.Path == "std":
			p.Comment = "the standard library and the runtime of Go"
			p.Refs = []spdxReference{purl("pkg:golang/stdlib@" + c.Version)}
		default:
			p.Comment = "go.sum: " + c.Sum
			p.Refs = []spdxReference{purl("pkg:golang/" + c.Path + "@" + c.Version)}
		}
		p.described(licenceName(c.Text), "NOASSERTION")
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRelationship{main.ID, "DEPENDS_ON", p.ID})
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

// described fills in what every package of a document must say.
func (p *spdxPackage) described(licence, copyright string) {
	p.Download, p.Concluded, p.Declared, p.Copyright = "NOASSERTION", licence, licence, copyright
}

// purl returns a reference to a package by its URL (github.com/package-url/purl-spec).
func purl(locator string) spdxReference {
	return spdxReference{"PACKAGE-MANAGER", "purl", locator}
}
