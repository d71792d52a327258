//go:build install && unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// TestModule: the module as a proxy makes it of HEAD is taken by version, without replace: by a
// test of another module, by one that uses the adapter, and by go install, and the page is in the
// program.
func TestModule(t *testing.T) {
	const ours, release = "github.com/mcprec/mcprec", "v0.1.0"
	source, proxy, cache := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, command(t, "git", "clone", "--quiet", absolute(t, repository), source))
	packModule(t, source, "", proxy, module.Version{Path: ours, Version: release})
	packModule(t, source, "transport/mcpgo", proxy, module.Version{Path: ours + "/transport/mcpgo", Version: release})
	settings := strings.Fields(run(t, command(t, "go", "env", "GOMODCACHE", "GOPROXY", "GOCACHE")))
	goCommand := func(folder string, args ...string) string {
		c := command(t, "go", args...).in(folder)
		c.Env = append(c.Env, "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GONOSUMDB="+ours, "GOMODCACHE="+cache, "GOCACHE="+settings[2], "GOBIN="+filepath.Join(folder, "bin"),
			"GOPROXY=file://"+proxy+",file://"+settings[0]+"/cache/download,"+settings[1])
		return run(t, c)
	}
	write := func(folder, name, contents string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("fixtures", func(t *testing.T) {
		user := t.TempDir()
		goCommand(user, "mod", "init", "example.com/user")
		seed, err := os.ReadFile(filepath.Join(source, "fixtures", "seed.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		write(user, "seed.jsonl", string(seed))
		write(user, "user_test.go", fmt.Sprintf(`package user

import (
	"testing"

	%q
)

func TestSeed(t *testing.T) {
	if fx := fixtures.Load(t, "seed.jsonl"); fx == nil {
		t.Error("no fixture")
	}
}
`, ours+"/fixtures"))
		goCommand(user, "get", "-t", ours+"/fixtures@"+release)
		if said := goCommand(user, "test", "-v", "."); !strings.Contains(said, "--- PASS: TestSeed") {
			t.Errorf("go test:\n%s", said)
		}
		mod, err := os.ReadFile(filepath.Join(user, "go.mod"))
		if err != nil || strings.Contains(string(mod), "replace") || !strings.Contains(string(mod), ours+" "+release) {
			t.Errorf("go.mod: %v\n%s", err, mod)
		}
	})
	t.Run("adapter", func(t *testing.T) {
		user := t.TempDir()
		goCommand(user, "mod", "init", "example.com/user")
		write(user, "main.go", fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", ours+"/transport/mcpgo"))
		goCommand(user, "get", ours+"/transport/mcpgo@"+release)
		goCommand(user, "build", ".")
	})
	t.Run("command", func(t *testing.T) {
		user := t.TempDir()
		goCommand(user, "install", ours+"/cmd/mcprec@"+release)
		program := filepath.Join(user, "bin", "mcprec")
		if said := run(t, command(t, program, "version")); said != "mcprec "+release+"\n" {
			t.Errorf("mcprec version says %q", said)
		}
		page := filepath.Join(user, "page.html")
		run(t, command(t, program, "view", "-o", page, filepath.Join(source, "fixtures", "seed.jsonl")))
		contents, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(contents), "preact") {
			t.Errorf("the page has %d bytes, and no script of preact: %v", len(contents), err)
		}
		if said := run(t, command(t, program, "demo")); !strings.Contains(said, "HANG (proved)") {
			t.Errorf("mcprec demo:\n%s", said)
		}
	})
}

// packModule puts a module of a clone's HEAD into the files of a proxy, as the go command packs it:
// without the modules below it.
func packModule(t *testing.T, source, folder, proxy string, m module.Version) {
	t.Helper()
	versions := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	packed, err := os.Create(filepath.Join(versions, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if err := zip.CreateFromVCS(packed, m, source, "HEAD", folder); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(folder), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, contents := range map[string]string{
		"list": m.Version + "\n", m.Version + ".mod": string(mod),
		m.Version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, m.Version),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
