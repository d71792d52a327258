package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var when = time.Date(2026, 11, 23, 14, 25, 0, 0, time.UTC)

// TestVersion: what Go stamps becomes a version, and a development version sorts before the
// release that it leads to.
func TestVersion(t *testing.T) {
	for stamped, want := range map[string][2]string{
		"v0.1.0":                                    {"0.1.0", "0.1.0"},
		"v1.2.3-rc.1":                               {"1.2.3-rc.1", "1.2.3~rc.1"},
		"v0.0.0-20261123142500-6e7f05641234":        {"0.1.0-dev.20261123142500.g6e7f05641234", "0.1.0~dev.20261123142500.g6e7f05641234"},
		"v0.1.1-0.20261123142500-6e7f05641234":      {"0.1.1-dev.20261123142500.g6e7f05641234", "0.1.1~dev.20261123142500.g6e7f05641234"},
		"v1.2.3-rc.1.0.20261123142500-6e7f05641234": {"1.2.3-rc.1.dev.20261123142500.g6e7f05641234", "1.2.3~rc.1.dev.20261123142500.g6e7f05641234"},
		"(devel)":      {},
		"":             {},
		"v0.1.0+dirty": {},
		"v0.0.0-20261123142500-6e7f05641234+dirty": {},
	} {
		got, err := releaseVersion(stamped)
		if got != want[0] || (err == nil) != (want[0] != "") {
			t.Errorf("%s: %q, %v; want %q", stamped, got, err, want[0])
		}
		if debian := debianVersion(got); debian != want[1] {
			t.Errorf("%s: for Debian %q, want %q", stamped, debian, want[1])
		}
	}
}

// TestArchives: an archive has the files in the order of their names, with their modes, the time
// of the commit and no owner of this machine; and is the same twice.
func TestArchives(t *testing.T) {
	files := []file{{"b/mcprec", program, []byte("program")}, {"a.txt", text, []byte("text")}}
	for name, pack := range map[string]func() ([]byte, error){
		"tar": func() ([]byte, error) { return tarball(files, when, false) },
		"zip": func() ([]byte, error) { return zipped(files, when.In(time.FixedZone("there", 3600))) },
	} {
		first, err := pack()
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(files)
		again, err := pack()
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: two archives differ, %v", name, err)
		}
		var entries []string
		if name == "tar" {
			entries = listTar(t, first)
		} else {
			entries = listZip(t, first)
		}
		want := []string{"a.txt -rw-r--r-- 2026-11-23T14:25:00Z text", "b/mcprec -rwxr-xr-x 2026-11-23T14:25:00Z program"}
		if !slices.Equal(entries, want) {
			t.Errorf("%s: %q, want %q", name, entries, want)
		}
	}
}

func listTar(t *testing.T, packed []byte) (entries []string) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unzipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		contents, err2 := io.ReadAll(archive)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "root" {
			t.Errorf("%s is of %d:%d", h.Name, h.Uid, h.Gid)
		}
		entries = append(entries, strings.TrimSpace(fmt.Sprintf("%s %v %s %s", h.Name, h.FileInfo().Mode(), h.ModTime.UTC().Format(time.RFC3339), contents)))
	}
}

func listZip(t *testing.T, packed []byte) (entries []string) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		contents, err := fs.ReadFile(archive, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, fmt.Sprintf("%s %v %s %s", f.Name, f.Mode(), f.Modified.UTC().Format(time.RFC3339), contents))
	}
	return entries
}

// TestDebian: the package is an ar archive of three members in the order that dpkg wants, with the
// folders before the files.
func TestDebian(t *testing.T) {
	d := debian{"0.1.0-dev.1", "amd64", []file{{"usr/bin/mcprec", program, []byte("program")}, {"usr/bin/a", text, make([]byte, 1025)}}}
	packed, err := d.pack(when)
	if err != nil {
		t.Fatal(err)
	}
	members, names := map[string][]byte{}, []string{}
	rest, found := bytes.CutPrefix(packed, []byte("!<arch>\n"))
	for found && len(rest) > 0 {
		head := rest[:60]
		size, err := strconv.Atoi(strings.TrimSpace(string(head[48:58])))
		if err != nil || string(head[58:]) != "`\n" {
			t.Fatalf("head of a member: %q, %v", head, err)
		}
		name := strings.TrimSpace(string(head[:16]))
		names = append(names, name)
		members[name] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	if !slices.Equal(names, []string{"debian-binary", "control.tar.gz", "data.tar.gz"}) || string(members["debian-binary"]) != "2.0\n" {
		t.Fatalf("members %q", names)
	}
	about := strings.Join(listTar(t, members["control.tar.gz"]), "\n")
	for _, want := range []string{"Version: 0.1.0~dev.1\n", "Architecture: amd64\n", "Installed-Size: 3\n", "a9c449d4fa44e9e5a41c574ae55ce4d9  usr/bin/mcprec"} {
		if !strings.Contains(about, want) {
			t.Errorf("control has no %q:\n%s", want, about)
		}
	}
	var data []string
	for _, entry := range listTar(t, members["data.tar.gz"]) {
		data = append(data, strings.SplitN(entry, " 2026", 2)[0])
	}
	if want := []string{"./usr/ drwxr-xr-x", "./usr/bin/ drwxr-xr-x", "./usr/bin/a -rw-r--r--", "./usr/bin/mcprec -rwxr-xr-x"}; !slices.Equal(data, want) {
		t.Errorf("data %q, want %q", data, want)
	}
}

// TestNpm: a package is installed on its platform only, the launcher depends on each of them, and
// nothing runs at the installation.
func TestNpm(t *testing.T) {
	r := release{version: "0.1.0", when: when, licence: file{"LICENSE", text, []byte("MIT")}, notices: file{"THIRD-PARTY.txt", text, nil}}
	for _, arch := range architectures {
		r.programs = append(r.programs, builtProgram{"windows", arch, []byte("MZ"), nil})
	}
	packages, err := npmPackages(r)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`npm/mcprec-win32-x64-0.1.0.tgz ["win32"] ["x64"] bin/mcprec.exe`,
		`npm/mcprec-win32-arm64-0.1.0.tgz ["win32"] ["arm64"] bin/mcprec.exe`,
		`npm/mcprec-0.1.0.tgz [] [] launcher.js`,
	} {
		var p struct {
			Systems  []string          `json:"os"`
			CPUs     []string          `json:"cpu"`
			Optional map[string]string `json:"optionalDependencies"`
			Name     string
			MCPName  string
			Scripts  any
		}
		entries := listTar(t, packages[i].Contents)
		program := ""
		for _, entry := range entries {
			name, rest, _ := strings.Cut(entry, " ")
			mode, rest, _ := strings.Cut(rest, " ")
			if mode == "-rwxr-xr-x" {
				program = strings.TrimPrefix(name, "package/")
			}
			if name == "package/package.json" {
				_, about, _ := strings.Cut(rest, " ")
				if err := json.Unmarshal([]byte(about), &p); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := fmt.Sprintf("%s %q %q %s", packages[i].Name, p.Systems, p.CPUs, program); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if p.Scripts != nil {
			t.Errorf("%s has scripts", packages[i].Name)
		}
		if i == 2 && fmt.Sprint(p.Optional) != "map[@mcprec/win32-arm64:0.1.0 @mcprec/win32-x64:0.1.0]" {
			t.Errorf("the launcher depends on %v", p.Optional)
		}
		if i == 2 { // a registry of MCP servers takes a package that names its server
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
			if server.Name != p.MCPName || server.Packages[0].Identifier != p.Name {
				t.Errorf("docs/agents/server.json is of %s in %s, the package of %s in %s", server.Name, server.Packages[0].Identifier, p.MCPName, p.Name)
			}
		}
	}
}

// TestManual: the help of a command becomes a page, in which nothing is taken for a request of
// roff.
func TestManual(t *testing.T) {
	helps := map[string]string{
		"help":             "Do things.\n\nUsage:\n  mcprec COMMAND\n\nMore:\n  keep   Keep it\n\nFlags:\n  -h, --help   help\n",
		"help keep":        "Keep it: a *b <c>.\n\nUsage:\n  mcprec keep [flags]\n  the same: hold\n\nExamples:\n  mcprec keep 'a\\b'\n\nA paragraph\n.of two lines.\n  x   a table\n  -   of two\n\nCommands:\n  all   Keep all\n\nFlags:\n      --at POINT   keep at\n                   'POINT'\n  -h, --help       help\n\nFlags of every command:\n      --color WHEN   colour\n",
		"help keep all":    "Keep all.\n\nUsage:\n  mcprec keep all\n",
		"help words":       "A topic says\n\n  this\tand\n",
		"__complete ":      "keep\tKeep it\nhelp\tHelp\n:4\n",
		"__complete keep ": "all\tKeep all\n:4\n",
		"__complete help ": "keep\tKeep it\nwords\tsome words\n:4\n",
	}
	pages, err := manualPages(func(args ...string) (string, error) {
		if answer, ok := helps[strings.Join(args, " ")]; ok {
			return answer, nil
		}
		return "", fmt.Errorf("asked %q", args)
	}, "0.1.0", when)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pages {
		names = append(names, p.Name)
	}
	if want := []string{"man/man1/mcprec.1", "man/man1/mcprec-keep.1", "man/man1/mcprec-keep-all.1", "man/man7/mcprec-words.7"}; !slices.Equal(names, want) {
		t.Fatalf("pages %q, want %q", names, want)
	}
	const want = `.TH MCPREC-KEEP 1 2026-11-23 "mcprec 0.1.0" "Manual of mcprec"
.SH NAME
mcprec\-keep \- keep it: a *b <c>
.SH SYNOPSIS
.nf
  mcprec keep [flags]
  the same: hold
.fi
.SH DESCRIPTION
A paragraph
\&.of two lines.
.PP
.nf
  x   a table
  \-   of two
.fi
.PP
Commands:
.PP
.nf
  all   Keep all
.fi
.SH OPTIONS
.TP
.B \-\-at POINT
keep at
\&'POINT'
.TP
.B \-h, \-\-help
help
.TP
.B \-\-color WHEN
colour
.SH EXAMPLES
.nf
  mcprec keep 'a\eb'
.fi
.SH SEE ALSO
.BR mcprec (1)
`
	if got := string(pages[1].Contents); got != want {
		t.Errorf("the page:\n%s\nwant:\n%s", got, want)
	}
	if topic := string(pages[3].Contents); !strings.Contains(topic, "mcprec\\-words \\- some words\n.SH DESCRIPTION\nA topic says\n.PP\n.nf\n  this    and\n.fi\n") {
		t.Errorf("the topic:\n%s", topic)
	}
}

// TestContents: the document names every module with its version, its checksum and its licence.
func TestContents(t *testing.T) {
	const mit = "Permission is hereby granted, free\nof charge, to"
	source := t.TempDir()
	for name, licence := range map[string]string{
		pageLicence:   mit,
		"sys/LICENSE": "Redistribution and use in source and\nbinary forms, with",
		"odd/LICENCE": "not found: another spelling", "odd/NOTICE": "As you like.\r\n", "odd/COPYING.txt": mit,
	} {
		path := filepath.Join(source, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(licence), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}, Deps: []*debug.Module{
		{Path: "golang.org/x/sys", Version: "v0.47.0", Sum: "h1:abc"}, {Path: "example.com/odd/v2", Version: "v2.0.0+incompatible", Sum: "h1:def"},
	}}
	parts, err := componentsOf(info, map[string]string{"golang.org/x/sys": filepath.Join(source, "sys"), "example.com/odd/v2": filepath.Join(source, "odd")}, source)
	if err != nil {
		t.Fatal(err)
	}
	out, err := contentsOf("mcprec_0.1.0_linux_amd64", builtProgram{"linux", "amd64", []byte("program"), info}, "0.1.0", parts, when)
	if err != nil {
		t.Fatal(err)
	}
	var doc spdxDocument
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range doc.Packages {
		got = append(got, strings.Join([]string{p.ID, p.Version, p.Declared, p.Comment}, " "))
	}
	want := []string{
		"SPDXRef-mcprec 0.1.0 MIT the program mcprec for linux on amd64",
		"SPDXRef-golang.org-x-sys-v0.47.0 v0.47.0 BSD-3-Clause go.sum: h1:abc",
		"SPDXRef-std-1.26.8 1.26.8 BSD-3-Clause the standard library and the runtime of Go",
		"SPDXRef-example.com-odd-v2-v2.0.0-incompatible v2.0.0+incompatible MIT go.sum: h1:def",
		"SPDXRef-preact-11 11 MIT bundled into the page of mcprec view",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if len(doc.Relationships) != len(want) {
		t.Errorf("%d relationships for %d packages", len(doc.Relationships), len(want))
	}
	if text := string(notices(parts)); strings.Count(text, "Redistribution and use") != 1 || !strings.Contains(text, "golang.org/x/sys v0.47.0\nstd 1.26.8\n\nRedistribution") {
		t.Errorf("the notices:\n%s", text)
	}
	if _, err := componentsOf(info, map[string]string{"golang.org/x/sys": t.TempDir()}, source); err == nil || !strings.Contains(err.Error(), "no licence in") {
		t.Errorf("a module without a licence: %v", err)
	}
}
