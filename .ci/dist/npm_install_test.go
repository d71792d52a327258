//go:build install && unix

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestNpmInstall: npm installs the launcher and the package of this platform, and no other, and runs
// nothing meanwhile; the launcher starts the program, passes its status and signals on.
func TestNpmInstall(t *testing.T) {
	needs(t, "npm")
	registry := newRegistry(t)
	prefix := t.TempDir()
	run(t, npm(t, registry.URL, "install", "--prefix", prefix, launcherName))
	system, arch := npmPlatform(runtime.GOOS, runtime.GOARCH)
	platform := "@mcprec/" + system + "-" + arch
	if want := []string{platform, launcherName}; !slices.Equal(registry.packed(), want) {
		t.Errorf("npm has fetched the packages %q, want %q", registry.packed(), want)
	}
	launcher := filepath.Join(prefix, "node_modules", ".bin", "mcprec")
	holdDemo(t, command(t, launcher))

	t.Run("status", func(t *testing.T) {
		err := command(t, launcher, "record", "--", "sh", "-c", "exit 7").Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 7 {
			t.Errorf("the server exits with 7, the launcher: %v", err)
		}
	})
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			holdSignal(t, command(t, launcher, "record", "--", "sh", "-c", "echo ready; exec sleep 1000"), signal)
		})
	}
	t.Run("no platform", func(t *testing.T) {
		prefix := t.TempDir()
		run(t, npm(t, registry.URL, "install", "--prefix", prefix, "--omit=optional", launcherName))
		said, err := command(t, filepath.Join(prefix, "node_modules", ".bin", "mcprec"), "version").CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 127 || !strings.Contains(string(said), "the package "+platform+" is not installed") {
			t.Errorf("the launcher alone: %v, %s", err, said)
		}
	})
	t.Run("offline", func(t *testing.T) {
		prefix := t.TempDir()
		name := func(of string) string { return filepath.Join(dist, "npm", of+"-"+version+".tgz") }
		run(t, npm(t, registry.URL, "install", "--prefix", prefix, "--offline", name("mcprec"), name("mcprec-"+system+"-"+arch)))
		holdDemo(t, command(t, filepath.Join(prefix, "node_modules", ".bin", "mcprec")))
	})
}

// npm returns an npm command with a registry and a cache of its own, which runs no script of
// a package.
func npm(t *testing.T, registry string, args ...string) cmd {
	c := command(t, "npm", append(args, "--ignore-scripts", "--no-audit", "--no-fund")...)
	c.Env = append(c.Env, "npm_config_registry="+registry, "npm_config_cache="+t.TempDir(), "npm_config_userconfig=/dev/null", "npm_config_update_notifier=false")
	return c
}

// holdSignal sends a signal to a process once that has said something: it must die of the
// signal, and so must everything that it has started, which holds its output open.
func holdSignal(t *testing.T, c cmd, signal syscall.Signal) {
	t.Helper()
	in, err := c.StdinPipe() // a client that stays
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		t.Errorf("it says %q, %v", line, err)
	}
	if err := c.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, said); err != nil { // returns when the last process has ended
		t.Error(err)
	}
	err = c.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("ended: %v", err)
	}
	if status := exit.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != signal {
		t.Errorf("ended: %v, want %v", err, signal)
	}
}

// registry serves the packages of the release as npm's registry does.
type registry struct {
	*httptest.Server
	mu      sync.Mutex
	fetched []string
}

// packed returns the names of the packages that were fetched, in their order.
func (r *registry) packed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.fetched)
	return slices.Clone(r.fetched)
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	tarballs, err := filepath.Glob(filepath.Join(dist, "npm", "*.tgz"))
	if err != nil || len(tarballs) != len(systems)*len(architectures)+1 {
		t.Fatalf("%d packages for npm, %v", len(tarballs), err)
	}
	packages := map[string][]byte{}
	for _, name := range tarballs {
		contents, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		packages[nameOf(t, contents)] = contents
	}
	r := &registry{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name, _ := url.PathUnescape(strings.TrimPrefix(req.URL.EscapedPath(), "/"))
		if of, isTarball := strings.CutSuffix(name, ".tgz"); isTarball && packages[of] != nil {
			r.mu.Lock()
			r.fetched = append(r.fetched, of)
			r.mu.Unlock()
			_, _ = w.Write(packages[of])
			return
		}
		if packages[name] == nil {
			http.NotFound(w, req)
			return
		}
		var about map[string]any
		_ = json.Unmarshal(packageJSON(packages[name]), &about)
		sum := sha512.Sum512(packages[name])
		about["dist"] = map[string]string{
			"tarball": r.URL + "/" + name + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: about},
		})
	}))
	t.Cleanup(r.Close)
	return r
}

// nameOf returns the name of a package for npm.
func nameOf(t *testing.T, packed []byte) string {
	t.Helper()
	var about npmPackage
	if err := json.Unmarshal(packageJSON(packed), &about); err != nil || about.Version != version {
		t.Fatalf("package.json of %q has version %q, want %q: %v", about.Name, about.Version, version, err)
	}
	return about.Name
}

// packageJSON returns the package.json of a package for npm, or nil.
func packageJSON(packed []byte) []byte {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	for archive := tar.NewReader(unzipped); ; {
		h, err := archive.Next()
		if err != nil {
			return fmt.Appendf(nil, "no package.json: %v", err)
		}
		if h.Name == "package/package.json" {
			contents, _ := io.ReadAll(archive)
			return contents
		}
	}
}
