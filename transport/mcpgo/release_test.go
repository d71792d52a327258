package mcpgo_test

import (
	"os"
	"regexp"
	"testing"
)

// TestReleases: the package doc names the releases that the tests run with, which are those
// of the two module files.
func TestReleases(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`works with mcp-go (v[0-9.]+[0-9]) to (v[0-9.]+[0-9])`).FindSubmatch(doc)
	if named == nil {
		t.Fatal("doc.go does not say: works with mcp-go vA to vB")
	}
	for i, file := range []string{"go.mod", "newest.mod"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		required := regexp.MustCompile(`github.com/mark3labs/mcp-go (v\S+)`).FindSubmatch(text)
		if required == nil || string(required[1]) != string(named[i+1]) {
			t.Errorf("doc.go says %s, %s requires %s", named[i+1], file, required)
		}
	}
}
