package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// systems are the systems that a release has programs for, each on every one of architectures.
var (
	systems       = []string{"darwin", "linux", "windows"}
	architectures = []string{"amd64", "arm64"}
)

// dockerfile is the recipe of the image; VERSION stands for the version.
//
//go:embed Dockerfile
var dockerfile string

// builtProgram is mcprec for one platform.
type builtProgram struct {
	System, Arch string // as Go names them
	Contents     []byte
	Info         *debug.BuildInfo
}

func (b builtProgram) fileName() string {
	if b.System == "windows" {
		return "mcprec.exe"
	}
	return "mcprec"
}

// release is what the files of a release are made from.
type release struct {
	version     string
	when        time.Time // of the commit
	programs    []builtProgram
	parts       map[string][]component // by SYSTEM_ARCH
	manuals     []file                 // below man/
	completions []file                 // below completions/
	about       []file                 // README.md and others
	licence     file                   // our own
	notices     file                   // of all programs
}

// makeRelease makes the release of the commit at HEAD of a repository and writes its files to
// a folder, which it empties first.
func makeRelease(from, out string, says io.Writer) error {
	changed, err := output(from, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		fmt.Fprintf(says, "dist: this is the release of HEAD; what is not committed is left out:\n%s", changed)
	}
	temp, err := os.MkdirTemp("", "mcprec-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	source := filepath.Join(temp, "source")
	if _, err := output(from, "git", "clone", "--quiet", ".", source); err != nil {
		return err
	}
	r, err := newRelease(source, says)
	if err != nil {
		return err
	}
	files, err := r.files()
	if err != nil {
		return err
	}
	if err := write(out, files); err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintf(says, "%10d  %s\n", len(f.Contents), f.Name)
	}
	return nil
}

// newRelease builds the programs of a clone and gathers what goes with them.
func newRelease(source string, says io.Writer) (r release, err error) {
	seconds, err := output(source, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return r, err
	}
	commit, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
	if err != nil {
		return r, fmt.Errorf("read the time of the commit: %w", err)
	}
	r.when = time.Unix(commit, 0)
	for _, system := range systems {
		for _, arch := range architectures {
			fmt.Fprintf(says, "dist: build %s %s\n", system, arch)
			b, err := build(source, system, arch)
			if err != nil {
				return r, err
			}
			r.programs = append(r.programs, b)
		}
	}
	if r.version, err = releaseVersion(r.programs[0].Info.Main.Version); err != nil {
		return r, err
	}
	if err := r.addContents(source); err != nil {
		return r, err
	}
	return r, r.addTexts(source)
}

// build builds the program for a platform, as make build does.
func build(source, system, arch string) (b builtProgram, err error) {
	if _, err := output(source, "make", "--silent", "build", "GOOS="+system, "GOARCH="+arch); err != nil {
		return b, err
	}
	contents, err := os.ReadFile(filepath.Join(source, "bin", "mcprec"))
	if err != nil {
		return b, err
	}
	info, err := buildinfo.Read(bytes.NewReader(contents))
	if err != nil {
		return b, fmt.Errorf("read what was built for %s on %s: %w", system, arch, err)
	}
	for _, s := range info.Settings {
		if s.Key == "GOOS" && s.Value != system || s.Key == "GOARCH" && s.Value != arch {
			return b, fmt.Errorf("make build made a program with %s=%s, not for %s on %s", s.Key, s.Value, system, arch)
		}
	}
	return builtProgram{system, arch, contents, info}, nil
}

// addContents finds what the programs are made of, with the licences.
func (r *release) addContents(source string) error {
	r.parts = map[string][]component{}
	var all []component
	for _, b := range r.programs {
		ask := []string{"list", "-m", "-f", "{{.Path}}\t{{.Dir}}"}
		for _, dep := range b.Info.Deps {
			ask = append(ask, dep.Path)
		}
		answer, err := output(source, "go", ask...)
		if err != nil {
			return err
		}
		folders := map[string]string{}
		for line := range strings.Lines(answer) {
			path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
			folders[path] = folder
		}
		parts, err := componentsOf(b.Info, folders, source)
		if err != nil {
			return err
		}
		r.parts[b.System+"_"+b.Arch] = parts
		for _, c := range parts {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Path, b.Path) })
	r.notices = file{"THIRD-PARTY.txt", text, notices(all)}
	return nil
}

// addTexts has the program write its manual pages and completions, and reads the texts that go with
// it.
func (r *release) addTexts(source string) (err error) {
	if _, err := output(source, "make", "--silent", "build"); err != nil { // for this machine
		return err
	}
	ask := func(args ...string) (string, error) {
		return output(source, filepath.Join(source, "bin", "mcprec"), args...)
	}
	if r.manuals, err = manualPages(ask, r.version, r.when); err != nil {
		return err
	}
	for _, shell := range []struct{ name, file string }{
		{"bash", "mcprec.bash"}, {"zsh", "_mcprec"}, {"fish", "mcprec.fish"}, {"powershell", "mcprec.ps1"},
	} {
		script, err := ask("completion", shell.name)
		if err != nil {
			return err
		}
		r.completions = append(r.completions, file{"completions/" + shell.file, text, []byte(script)})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		contents, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return err
		}
		r.about = append(r.about, file{name, text, contents})
	}
	r.licence = r.about[0]
	return nil
}

// files returns the files of the release, and their checksums.
func (r release) files() (files []file, err error) {
	for _, b := range r.programs {
		made, err := r.filesOf(b)
		if err != nil {
			return nil, err
		}
		files = append(files, made...)
	}
	packages, err := npmPackages(r)
	if err != nil {
		return nil, err
	}
	files = append(files, packages...)
	files = append(files, file{"Dockerfile", text, []byte(strings.ReplaceAll(dockerfile, "VERSION", r.version))})
	files = sorted(files)
	var sums bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.Contents), f.Name)
	}
	return append(files, file{"SHA256SUMS", text, sums.Bytes()}), nil
}

// filesOf returns the files for one platform.
func (r release) filesOf(b builtProgram) (files []file, err error) {
	add := func(name string, contents []byte, err error) error {
		files = append(files, file{name, text, contents})
		return err
	}
	name := fmt.Sprintf("mcprec_%s_%s_%s", r.version, b.System, b.Arch)
	inside := append([]file{{b.fileName(), program, b.Contents}, r.notices}, r.about...)
	inside = below(name, append(inside, r.completions...))
	if b.System == "windows" {
		packed, err := zipped(inside, r.when)
		if err := add(name+".zip", packed, err); err != nil {
			return nil, err
		}
	} else {
		packed, err := tarball(append(inside, below(name, r.manuals)...), r.when, false)
		if err := add(name+".tar.gz", packed, err); err != nil {
			return nil, err
		}
	}
	if b.System == "linux" {
		installed, err := r.installed(b)
		if err != nil {
			return nil, err
		}
		packed, err := debian{r.version, b.Arch, installed}.pack(r.when)
		if err := add(name+".deb", packed, err); err != nil { // not with a ~, which GitHub takes out of names
			return nil, err
		}
	}
	contents, err := contentsOf(name, b, r.version, r.parts[b.System+"_"+b.Arch], r.when)
	return files, add(name+".spdx.json", contents, err)
}

// installed returns the files of the program where Debian's policy wants them.
func (r release) installed(b builtProgram) ([]file, error) {
	const docs = "usr/share/doc/mcprec/"
	files := []file{
		{"usr/bin/mcprec", program, b.Contents},
		{docs + "copyright", text, slices.Concat(r.licence.Contents, []byte("\n"), r.notices.Contents)},
	}
	places := map[string]string{
		"mcprec.bash": "usr/share/bash-completion/completions/mcprec",
		"_mcprec":     "usr/share/zsh/vendor-completions/_mcprec",
		"mcprec.fish": "usr/share/fish/vendor_completions.d/mcprec.fish",
	}
	for _, f := range r.completions {
		if place, ok := places[filepath.Base(f.Name)]; ok {
			files = append(files, file{place, text, f.Contents})
		}
	}
	for _, f := range r.manuals {
		packed, err := gzipped(f.Contents)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"usr/share/" + f.Name + ".gz", text, packed})
	}
	for _, f := range r.about {
		if f.Name == "CHANGELOG.md" {
			packed, err := gzipped(f.Contents)
			if err != nil {
				return nil, err
			}
			files = append(files, file{docs + "changelog.gz", text, packed})
		}
	}
	return files, nil
}

// write empties a folder and writes the files there.
func write(folder string, files []file) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.Join(folder, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Contents, f.Mode); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command in a folder and returns what it prints. The error has what it says on
// stderr.
func output(folder, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "COLUMNS=80", "NO_COLOR=1", "LC_ALL=C", "MAKEFLAGS=", "MCPREC_HOME="+filepath.Join(folder, "no-store"))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return string(out), nil
}
