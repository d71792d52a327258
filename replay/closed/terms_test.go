package closed

import (
	"os"
	"strings"
	"testing"
)

// TestModelTerms: the terms are of all models.
func TestModelTerms(t *testing.T) {
	var listed []string
	for _, term := range ModelTerms() {
		name, _, _ := strings.Cut(term.Word, "=")
		listed = append(listed, name)
	}
	for _, m := range []Model{Independent, SingleThreaded, AnswersInline, BlockingHandlers, BlockingHandlersExceptTools, NotificationQueue(0)} {
		name, _, _ := strings.Cut(m.String(), "=")
		if !strings.Contains(" "+strings.Join(listed, " ")+" ", " "+name+" ") {
			t.Errorf("no term %s in %q", name, listed)
		}
	}
}

// TestCategoryTerms: the terms are of all categories, in the words of the manual.
func TestCategoryTerms(t *testing.T) {
	manual, err := os.ReadFile("../../docs/hang.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range CategoryTerms() {
		if row := "| `" + term.Word + "` | " + term.Means + " |"; !strings.Contains(string(manual), row) {
			t.Errorf("docs/hang.md has no row %s", row)
		}
	}
}
