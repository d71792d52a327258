package output

import "testing"

func TestFold(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a paragraph", "one two three four\nfive six\n", "one two three\nfour five six\n"},
		{"what ends a paragraph", "one two three four:\n  x\n", "one two three\nfour:\n  x\n"},
		{"a line of its own", "  one two three four five\n", "  one two\n  three four\n  five\n"},
		{"a second column", "  a  one two three four\n", "  a  one two\n     three\n     four\n"},
		{"a command", "  mcprec show SESSION --pairs\n", "  mcprec show SESSION --pairs\n"},
		{"nothing to break", "one\n\n  two\n", "one\n\n  two\n"},
	} {
		if got := Fold(row.text, 14); got != row.want {
			t.Errorf("%s:\n%swant\n%s", row.name, got, row.want)
		}
	}
}
