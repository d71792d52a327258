package output

import (
	"strings"
	"testing"
)

// TestTable: a table is as wide as its cells in a file. A terminal without the room gets a tighter layout: columns are left
// out and cells are cut, but for those that must be whole, and one gets what is left over.
func TestTable(t *testing.T) {
	type row struct{ id, name, size, does string }
	rows := []row{
		{"1", "a name that is longer than a tight layout has room for", "12", "sleeps"},
		{"123456789012345678", "日本語", "3", "waits\x1b[31m for the answer to its own question"},
	}
	columns := func(layout int) []Column[row] {
		title := map[int]string{Roomy: "SIZE", Narrow: "MB"}[layout]
		return []Column[row]{
			{Title: "ID", UpTo: Narrowest, IsWhole: true, Cell: func(r row) string { return r.id }},
			{Title: "NAME", UpTo: Narrowest, Widens: true, Cell: func(r row) string { return r.name }},
			{Title: title, Width: 5, Right: true, UpTo: Narrow, Cell: func(r row) string { return r.size }},
			{Title: "DOES", UpTo: Narrowest, Cell: func(r row) string { return r.does }, Style: func(r row) Style {
				if r.id == "1" {
					return Unpainted
				}
				return Red
			}},
		}
	}
	behind := func(s *Screen, r row) {
		if r.id == "1" {
			s.Paint(Dim, "  (lost)")
		}
	}
	for _, test := range []struct {
		width int // of the terminal; 0: none
		want  string
	}{
		{0, `
ID                  NAME                                                     SIZE  DOES
1                   a name that is longer than a tight layout has room for     12  sleeps  (lost)
123456789012345678  日本語                                                      3  waits\u001b[31m for the answer to its own question
`},
		{70, `
ID                  NAME                          MB  DOES
1                   a name that is longer th…     12  sleeps  (lost)
123456789012345678  日本語                         3  waits\u001b[31m…
`},
		{50, `
ID                  NAME              DOES
1                   a name that is …  sleeps  (lo…
123456789012345678  日本語            waits\u001b…
`},
	} {
		var b strings.Builder
		screen := NewScreen(&b, "never")
		if test.width > 0 {
			screen.isTerminal, screen.Width = true, test.width
		}
		Table[row]{Rows: rows, Columns: columns, Behind: behind}.Print(screen)
		if err := screen.Flush(); err != nil || b.String() != strings.TrimPrefix(test.want, "\n") {
			t.Errorf("%d columns: %v\n%s\nwant%s", test.width, err, b.String(), test.want)
		}
	}
	var b strings.Builder
	screen := NewScreen(&b, "always")
	Table[row]{Columns: columns}.Print(screen)
	Table[row]{Rows: rows[1:], Columns: columns}.Print(screen)
	if err := screen.Flush(); err != nil || strings.Count(b.String(), "\x1b[31m") != 1 || strings.Contains(b.String(), "NAME\nID") || !strings.HasPrefix(b.String(), "\x1b[2mID") {
		t.Errorf("%v, in colours: %q", err, b.String())
	}
}
