package node

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// installed returns a folder of the test's own with the servers of this package and the packages of
// the manifest.
func installed(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not here")
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	modules := filepath.Join(cache, "mcprec-zoo", "node-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(modules); errors.Is(err, fs.ErrNotExist) {
		install(t, modules, text)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	servers, _ := filepath.Glob("*.mjs")
	for _, server := range servers {
		source, err := os.ReadFile(server)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, server), source, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// install installs the packages of a manifest into a new folder, which appears when it is whole.
func install(t *testing.T, modules string, manifest []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(modules), 0o777); err != nil {
		t.Fatal(err)
	}
	partial, err := os.MkdirTemp(filepath.Dir(modules), "node-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(partial)
	if err := os.WriteFile(filepath.Join(partial, "package.json"), manifest, 0o666); err != nil {
		t.Fatal(err)
	}
	npm := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
		"--legacy-peer-deps") // releases of one package, old and new, stand beside each other
	npm.Dir = partial
	if said, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, said)
	}
	if err := os.Rename(partial, modules); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

// release returns the name of an installed package with its version, or "" if the manifest does not
// name the package.
func release(t *testing.T, dir, pkg string) string {
	t.Helper()
	var wanted struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	text, err := os.ReadFile(manifest)
	if err == nil {
		err = json.Unmarshal(text, &wanted)
	}
	if err != nil {
		t.Fatal(err)
	}
	if wanted.Dependencies[pkg] == "" {
		return ""
	}
	var is struct {
		Version string `json:"version"`
	}
	text, err = os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(pkg), "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(pkg) + "@" + is.Version
}
