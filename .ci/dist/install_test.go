//go:build install && unix

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests here make the release of HEAD and install each file that can run on this machine
// into an empty folder. make dist-test runs them. A check that needs a program that is not here is
// skipped, and says so.

// repository is the root of the repository.
const repository = "../.."

// dist is the folder with the release, and version is what its files are named after.
var dist, version string

func TestMain(m *testing.M) {
	status, err := withRelease(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// withRelease makes the release that all tests share, runs them, and removes it.
func withRelease(run func() int) (int, error) {
	temp, err := os.MkdirTemp("", "mcprec-dist-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(temp)
	dist = filepath.Join(temp, "dist")
	if err := makeRelease(os.Stderr, "RELEASE="+dist); err != nil {
		return 1, err
	}
	found, err := filepath.Glob(filepath.Join(dist, "mcprec_*_linux_amd64.tar.gz"))
	if err != nil || len(found) != 1 {
		return 1, fmt.Errorf("archives for linux on amd64: %v, %v", found, err)
	}
	version = strings.Split(filepath.Base(found[0]), "_")[1]
	return run(), nil
}

// makeRelease runs make dist, with variables of make's.
func makeRelease(says io.Writer, variables ...string) error {
	c := exec.Command("make", append([]string{"--silent", "-C", repository, "dist"}, variables...)...)
	c.Env = append(os.Environ(), "MAKEFLAGS=") // not those of make dist-test
	c.Stdout, c.Stderr = says, says
	return c.Run()
}

// TestVersion: a commit with a tag has its version, another one a version that says where it is from.
func TestVersion(t *testing.T) {
	git := func(args ...string) string {
		said, _ := command(t, "git", args...).in(repository).Output()
		return strings.TrimSpace(string(said))
	}
	if tag := git("describe", "--tags", "--exact-match"); tag != "" {
		if "v"+version != tag {
			t.Errorf("%s has version %s", tag, version)
		}
		return
	}
	want := `^\d+\.\d+\.\d+-dev\.` + commitTime(t).Format("20060102150405") + `\.g` + git("rev-parse", "--short=12", "HEAD") + "$"
	if !regexp.MustCompile(want).MatchString(version) {
		t.Errorf("version %s, want %s", version, want)
	}
}

// TestTwice: the release made by a user who hides files, in another time zone and in another folder has
// the same bytes; and the sums are those of the files. make reproducible holds that the programs need nothing
// of Go's cache.
func TestTwice(t *testing.T) {
	again := filepath.Join(t.TempDir(), "and", "another")
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TZ", "Asia/Kolkata")
	mask := syscall.Umask(0o077)
	var said bytes.Buffer
	err := makeRelease(&said, "RELEASE="+again)
	syscall.Umask(mask)
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	first, second := readFolder(t, dist), readFolder(t, again)
	if len(first) != 6+2+7+2 { // archives, packages for Debian and npm, Dockerfile, sums
		t.Errorf("the release has %d files", len(first))
	}
	for name, contents := range first {
		if !bytes.Equal(contents, second[name]) {
			t.Errorf("%s: %d and %d bytes, and not the same", name, len(contents), len(second[name]))
		}
		delete(second, name)
	}
	for name := range second {
		t.Errorf("%s: in the second release only", name)
	}
	checked := run(t, command(t, needs(t, "sha256sum"), "-c", "SHA256SUMS").in(dist))
	if strings.Count(checked, ": OK\n") != len(first)-1 {
		t.Errorf("sha256sum has checked:\n%s", checked)
	}
}

// TestPacked: in every archive and in every package for npm, each file has the time of the commit, its
// mode, and no owner of this machine.
func TestPacked(t *testing.T) {
	when := commitTime(t)
	for name, contents := range readFolder(t, dist) {
		var entries []fs.FileInfo
		switch filepath.Ext(name) {
		case ".gz", ".tgz":
			unzipped, err := gzip.NewReader(bytes.NewReader(contents))
			if err != nil {
				t.Fatal(err)
			}
			for archive := tar.NewReader(unzipped); ; {
				h, err := archive.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if h.Uid != 0 || h.Gid != 0 || h.Uname != "root" || h.Gname != "root" {
					t.Errorf("%s: %s is of %s:%s, %d:%d", name, h.Name, h.Uname, h.Gname, h.Uid, h.Gid)
				}
				entries = append(entries, h.FileInfo())
			}
		case ".zip":
			archive, err := zip.NewReader(bytes.NewReader(contents), int64(len(contents)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.File {
				entries = append(entries, f.FileInfo())
			}
		default:
			continue
		}
		if len(entries) < 4 {
			t.Errorf("%s has %d files", name, len(entries))
		}
		for _, e := range entries {
			mode := fs.FileMode(0o644)
			switch e.Name() {
			case "mcprec", "mcprec.exe", "mcprec-share", "mcprec-share.exe", "launcher.js":
				mode = 0o755
			}
			if e.Mode() != mode || !e.ModTime().Equal(when) {
				t.Errorf("%s: %s is %v, of %v; want %v, %v", name, e.Name(), e.Mode(), e.ModTime(), mode, when)
			}
		}
	}
}

// TestBuild: the programs in the archive for this machine are those that make builds.
func TestBuild(t *testing.T) {
	folder, source := unpacked(t), t.TempDir()
	run(t, command(t, "git", "clone", "--quiet", absolute(t, repository), source))
	build := command(t, "make", "--silent", "build", "share").in(source)
	build.Env = append(os.Environ(), "MAKEFLAGS=")
	run(t, build)
	for _, name := range []string{"mcprec", "mcprec-share"} {
		packed, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		built, err := os.ReadFile(filepath.Join(source, "bin", name))
		if err != nil || !bytes.Equal(packed, built) {
			t.Errorf("%s: %d bytes in the archive, %d built, and not the same: %v", name, len(packed), len(built), err)
		}
	}
}

// TestArchive: the archive for this machine, unpacked, has programs that run, and completions.
func TestArchive(t *testing.T) {
	folder := unpacked(t)
	holdDemo(t, command(t, filepath.Join(folder, "mcprec")))
	holdShare(t, command(t, filepath.Join(folder, "mcprec")))
	for _, name := range []string{"LICENSE", "THIRD-PARTY.txt", "README.md", "CHANGELOG.md", "completions/mcprec.ps1"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	completions := filepath.Join(folder, "completions")
	t.Run("bash", func(t *testing.T) {
		// This _init_completion stands in for that of the package bash-completion, which a machine may lack.
		complete := `_init_completion() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
			. ./mcprec.bash; COMP_WORDS=(mcprec exp); COMP_CWORD=1; COMP_LINE="mcprec exp"; COMP_POINT=10; COMP_TYPE=9; __start_mcprec; printf '%s\n' "${COMPREPLY[@]}"`
		c := command(t, needs(t, "bash"), "--norc", "-c", complete).in(completions)
		c.Env = append(c.Env, "PATH="+folder+":"+os.Getenv("PATH"))
		if said := run(t, c); !strings.Contains(said, "explore") || !strings.Contains(said, "export") {
			t.Errorf("mcprec exp is completed to %q", said)
		}
	})
	for shell, file := range map[string]string{"zsh": "_mcprec", "fish": "mcprec.fish"} {
		t.Run(shell, func(t *testing.T) {
			run(t, command(t, needs(t, shell), "-n", file).in(completions))
		})
	}
}

// TestDeb: the package, unpacked, has programs that run; dpkg installs it into an empty root and
// removes all of it.
func TestDeb(t *testing.T) {
	deb := filepath.Join(dist, fmt.Sprintf("mcprec_%s_linux_%s.deb", version, runtime.GOARCH))
	dpkg := needs(t, "dpkg-deb")
	// ~ sorts before the end of a text.
	if said := run(t, command(t, dpkg, "--field", deb, "Version")); strings.TrimSpace(said) != strings.Replace(version, "-", "~", 1) {
		t.Errorf("the version is %q, of %s", said, version)
	}
	root := t.TempDir()
	run(t, command(t, dpkg, "-x", deb, root))
	run(t, command(t, needs(t, "md5sum"), "--quiet", "-c", extractedControl(t, dpkg, deb, "md5sums")).in(root))
	holdDemo(t, command(t, filepath.Join(root, "usr/bin/mcprec")))
	holdShare(t, command(t, filepath.Join(root, "usr/bin/mcprec")))
	for name, mode := range map[string]fs.FileMode{
		"usr/bin/mcprec": 0o755, "usr/bin/mcprec-share": 0o755, "usr/share/doc/mcprec/copyright": 0o644, "usr/share/doc/mcprec/THIRD-PARTY.txt": 0o644,
		"usr/share/bash-completion/completions/mcprec": 0o644,
	} {
		if about, err := os.Stat(filepath.Join(root, name)); err != nil || about.Mode() != mode || !about.ModTime().Equal(commitTime(t)) {
			t.Errorf("%s: %v, %v", name, about, err)
		}
	}

	t.Run("installed", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("not root: dpkg installs for root only")
		}
		root := t.TempDir()
		if err := errors.Join(os.MkdirAll(filepath.Join(root, "var/lib/dpkg/updates"), 0o755), os.Mkdir(filepath.Join(root, "var/lib/dpkg/info"), 0o755),
			os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		install := []string{"--root=" + root, "--log=" + filepath.Join(root, "log"), "--force-not-root"}
		run(t, command(t, needs(t, "dpkg"), append(install, "-i", deb)...))
		holdDemo(t, command(t, filepath.Join(root, "usr/bin/mcprec")))
		run(t, command(t, "dpkg", append(install, "--remove", "mcprec")...))
		if left := readFolder(t, filepath.Join(root, "usr")); len(left) > 0 {
			t.Errorf("removed, but %d files are left", len(left))
		}
	})
}

// commitTime returns the time of the commit that the release is made of.
func commitTime(t *testing.T) time.Time {
	t.Helper()
	said := run(t, command(t, "git", "log", "-1", "--format=%ct").in(repository))
	seconds, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(seconds, 0).UTC()
}

// extractedControl returns the path of a file of a package's control part.
func extractedControl(t *testing.T, dpkg, deb, name string) string {
	t.Helper()
	folder := t.TempDir()
	run(t, command(t, dpkg, "-e", deb, folder))
	return filepath.Join(folder, name)
}

// TestImage builds the image and runs it.
func TestImage(t *testing.T) {
	engine := ""
	for _, name := range []string{"podman", "docker"} {
		if exec.Command(name, "info").Run() == nil {
			engine = name
			break
		}
	}
	if engine == "" {
		t.Skip("neither podman nor docker runs here")
	}
	const image = "mcprec-dist-test"
	run(t, command(t, engine, "build", "--quiet", "--build-arg", "TARGETARCH="+runtime.GOARCH, "-t", image, ".").in(dist))
	t.Cleanup(func() { _ = exec.Command(engine, "rmi", "--force", image).Run() })
	holdDemo(t, command(t, engine, "run", "--rm", image))
}

// unpacked unpacks the archive for this machine, and returns the folder in it.
func unpacked(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("mcprec_%s_%s_%s", version, runtime.GOOS, runtime.GOARCH)
	prefix := t.TempDir()
	run(t, command(t, needs(t, "tar"), "-xzf", filepath.Join(dist, name+".tar.gz")).in(prefix))
	return filepath.Join(prefix, name)
}

// cmd is a command with an environment of its own.
type cmd struct{ *exec.Cmd }

func (c cmd) in(folder string) cmd {
	c.Dir = folder
	return c
}

// command returns a command that finds no store and no settings of this user.
func command(t *testing.T, name string, args ...string) cmd {
	c := exec.Command(name, args...)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "HOME="+c.Dir, "MCPREC_HOME=", "XDG_STATE_HOME=", "NO_COLOR=1")
	return cmd{c}
}

// run runs a command, which must succeed, and returns what it prints.
func run(t *testing.T, c cmd) string {
	t.Helper()
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", c, err, out, &said)
	}
	return string(out)
}

// needs returns the name of a program, and skips the test where it is not installed.
func needs(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("not checked: there is no %s here", name)
	}
	return name
}

// holdDemo runs mcprec by a command without arguments: it must be of this release and show
// the hang that mcprec demo shows.
func holdDemo(t *testing.T, mcprec cmd) {
	t.Helper()
	for _, c := range []struct{ args, want string }{
		{"version", commitOf(version)},
		{"demo", "\nHANG (proved) "}, // the first ring holds the words
		{"demo", "# Now yours: mcprec wrap "},
	} {
		again := *mcprec.Cmd
		again.Args = append(slices.Clone(again.Args), c.args)
		if said := run(t, cmd{&again}); !strings.Contains(said, c.want) {
			t.Errorf("%s: no %q in\n%s", &again, c.want, said)
		}
	}
}

// holdShare runs mcprec share by a command without arguments: mcprec-share is beside it.
func holdShare(t *testing.T, mcprec cmd) {
	t.Helper()
	mcprec.Args = append(mcprec.Args, "share", "--help")
	if said := run(t, mcprec); !strings.Contains(said, "mcprec-share push nats://") {
		t.Errorf("mcprec share --help says %s", said)
	}
}

// commitOf returns the commit in a development version, or else the version: either is in
// what mcprec version prints.
func commitOf(version string) string {
	if _, commit, found := strings.Cut(version, ".g"); found {
		return commit
	}
	return version
}

// readFolder returns the files below a folder by their names.
func readFolder(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(filepath.Join(folder, path))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}
