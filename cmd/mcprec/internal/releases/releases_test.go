package releases

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestSearch: changes are found in any list, unclear ones included, and few are tried.
func TestSearch(t *testing.T) {
	for outcomes, want := range map[string][]Change{
		"":                                 nil,
		"b":                                nil,
		"gb":                               {{0, 1}},
		"bg":                               {{0, 1}},
		"gg":                               nil,
		"ggggbbbbbbbb":                     {{3, 4}},
		"bbbbbbbbbbbg":                     {{10, 11}},
		"gggg??bbb":                        {{3, 6}},
		"??gg?bb??":                        {{3, 5}},
		"ggbbgg":                           {{1, 2}, {3, 4}},
		"ggggggggggbgg":                    {{9, 10}, {10, 11}},
		"????":                             nil,
		"g????b":                           {{0, 5}},
		strings.Repeat("g", 500) + "bbbbb": {{499, 500}},
	} {
		tries := map[int]int{}
		changes, err := Search(len(outcomes), func(i int) (Outcome, error) {
			tries[i]++
			return map[byte]Outcome{'g': Good, 'b': Bad, '?': Unclear}[outcomes[i]], nil
		})
		if err != nil || !reflect.DeepEqual(changes, want) {
			t.Errorf("%.40s: %v, %v, want %v", outcomes, changes, err, want)
		}
		for i, count := range tries {
			if count > 1 {
				t.Errorf("%.40s: %d was tried %d times", outcomes, i, count)
			}
		}
		if len(outcomes) > 100 && len(tries) > 12 {
			t.Errorf("%d of %d were tried", len(tries), len(outcomes))
		}
	}
	failed := errors.New("stopped")
	if _, err := Search(9, func(i int) (Outcome, error) { return Good, failed }); err != failed {
		t.Errorf("error %v, want %v", err, failed)
	}
}

// TestCompare: versions have the order of Semantic Versioning.
func TestCompare(t *testing.T) {
	order := []string{"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "v1.2.0", "1.10.0+build"}
	for i, a := range order {
		for k, b := range order {
			if got := Compare(a, b); got != cmpInt(i, k) {
				t.Errorf("Compare(%s, %s) is %d", a, b, got)
			}
		}
	}
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestParseRange: what is a range, and which releases lie in it.
func TestParseRange(t *testing.T) {
	for text, want := range map[string]Range{
		"npm:a@1.0.0..2.0.0":           {"npm", "a", "1.0.0", "2.0.0"},
		"npm:@s/a@1.0.0..":             {"npm", "@s/a", "1.0.0", ""},
		"go:example.com/a/v2@..v2.1.0": {"go", "example.com/a/v2", "", "v2.1.0"},
		"npm:a@..":                     {"npm", "a", "", ""},
	} {
		if got, err := ParseRange(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "npm:a", "npm:a@1.0.0", "pip:a@1..2", "a@1..2", "npm:a@2.0.0..1.0.0", "npm:--x@1..2", "npm:@1..2"} {
		if got, err := ParseRange(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
	all := []string{"1.10.0", "1.2.0", "2.0.0-rc.1", "1.0.0", "2.0.0"}
	list, err := Range{Name: "a", First: "1.2.0"}.of(all)
	if want := []string{"1.2.0", "1.10.0", "2.0.0"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v, want %v", list, err, want)
	}
	list, err = Range{Name: "a", First: "1.10.0", Last: "2.0.0-rc.1"}.of(all)
	if want := []string{"1.10.0", "2.0.0-rc.1"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v, want %v", list, err, want)
	}
	if _, err = (Range{Name: "a", Last: "3.0.0"}).of(all); err == nil || err.Error() != "a has no release 3.0.0; the newest is 2.0.0" {
		t.Errorf("error %v", err)
	}
}

// TestNPM: npm lists and installs the releases of a registry, here one on this machine, into a copy of a project.
func TestNPM(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not here")
	}
	registry := newRegistry(t, "1.0.0", "1.1.0", "2.0.0-rc.1")
	t.Setenv("npm_config_registry", registry.URL)
	t.Setenv("npm_config_cache", t.TempDir())
	n := &npm{}
	ctx := context.Background()
	list, err := n.Releases(ctx, Range{Kind: "npm", Name: "@test/sdk"})
	if want := []string{"1.0.0", "1.1.0"}; err != nil || !slices.Equal(list, want) {
		t.Fatalf("releases %v, %v, want %v", list, err, want)
	}
	if date := n.Date(ctx, "@test/sdk", "1.1.0"); date != "2026-01-02" {
		t.Errorf("date %q", date)
	}
	project := filepath.Join(t.TempDir(), "a project")
	for name, text := range map[string]string{
		"package.json": `{"name":"p","devDependencies":{"@test/sdk":"^1.0.0"}}`, "node_modules/x/index.js": "", "src/a.mjs": "import '@test/sdk'", ".git/HEAD": "",
	} {
		file := filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if !n.IsProject(project) || n.IsProject(t.TempDir()) {
		t.Error("a project is a folder with a package.json")
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		folder := filepath.Join(t.TempDir(), "a copy")
		if err := errors.Join(Copy(project, folder), n.Install(ctx, folder, "@test/sdk", version)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "node_modules/@test/sdk/index.js"))
		if want := "export default '" + version + "'"; err != nil || string(text) != want {
			t.Errorf("installed %q, %v, want %q", text, err, want)
		}
		if _, err := os.Stat(filepath.Join(folder, "src/a.mjs")); err != nil {
			t.Error(err)
		}
		for _, left := range []string{"node_modules/x", ".git"} {
			if _, err := os.Stat(filepath.Join(folder, left)); err == nil {
				t.Errorf("%s was copied", left)
			}
		}
	}
	if err := n.Install(ctx, t.TempDir(), "@test/sdk", "3.0.0"); err == nil || !strings.Contains(err.Error(), "3.0.0") {
		t.Errorf("no error of a release that is not there: %v", err)
	}
}

// newRegistry serves the releases of @test/sdk as a registry of npm does.
func newRegistry(t *testing.T, versions ...string) *httptest.Server {
	packed := map[string][]byte{}
	for _, version := range versions {
		var b bytes.Buffer
		zip := gzip.NewWriter(&b)
		archive := tar.NewWriter(zip)
		for name, text := range map[string]string{
			"package/package.json": fmt.Sprintf(`{"name":"@test/sdk","version":%q,"type":"module","main":"index.js"}`, version),
			"package/index.js":     "export default '" + version + "'",
		} {
			if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
				t.Fatal(err)
			}
			if _, err := archive.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(archive.Close(), zip.Close()); err != nil {
			t.Fatal(err)
		}
		packed[version] = b.Bytes()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if version, isPack := strings.CutPrefix(r.URL.Path, "/pack/"); isPack {
			_, _ = w.Write(packed[strings.TrimSuffix(version, ".tgz")])
			return
		}
		if r.URL.Path != "/@test/sdk" {
			http.NotFound(w, r)
			return
		}
		document := map[string]any{"name": "@test/sdk", "dist-tags": map[string]string{"latest": "1.1.0"}}
		list, times := map[string]any{}, map[string]string{"created": "2026-01-01T00:00:00.000Z", "modified": "2026-01-05T00:00:00.000Z"}
		for i, version := range versions {
			sum := sha512.Sum512(packed[version])
			list[version] = map[string]any{"name": "@test/sdk", "version": version, "type": "module", "main": "index.js",
				"dist": map[string]string{"tarball": "http://" + r.Host + "/pack/" + version + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}
			times[version] = fmt.Sprintf("2026-01-%02dT00:00:00.000Z", i+1)
		}
		document["versions"], document["time"] = list, times
		_ = json.NewEncoder(w).Encode(document)
	}))
	t.Cleanup(server.Close)
	return server
}
