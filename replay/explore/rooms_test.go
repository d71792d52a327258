package explore

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The package's doc lists every file in one of its rooms.
func TestRooms(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rooms, _ := strings.Cut(string(doc), "# The rooms")
	rooms, _, _ = strings.Cut(rooms, "# What it refuses")
	listed := regexp.MustCompile(`[a-z]+`).FindAllString(rooms, -1)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(file, ".go"), "_") // budget_unix is in budget
		if !strings.HasSuffix(file, "_test.go") && name != "doc" && !slices.Contains(listed, name) {
			t.Errorf("%s is in no room", file)
		}
	}
}
