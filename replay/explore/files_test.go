package explore

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFiles holds that the package's doc lists every file.
func TestFiles(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(doc), "# The files")
	list, _, _ = strings.Cut(list, "# What it refuses")
	var listed []string
	for line := range strings.Lines(list) {
		names, _, _ := strings.Cut(line, "   ") // what they are for follows
		listed = append(listed, regexp.MustCompile(`[a-z_]+`).FindAllString(names, -1)...)
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".go")
		if !strings.HasSuffix(file, "_test.go") && name != "doc" && !slices.Contains(listed, name) {
			t.Errorf("%s is not in doc.go", file)
		}
	}
}
