package output

import (
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Column is a column of a table with rows of one type.
type Column[R any] struct {
	Title   string
	Width   int  // in columns of the terminal, at least
	Right   bool // the cells are aligned to the right
	UpTo    int  // the tightest layout that has it
	IsWhole bool // no layout cuts its cells
	Widens  bool // it gets the room that a tight layout leaves over
	Cell    func(R) string
	Style   func(R) Style // nil: unpainted

	full int // the width of the longest cell
}

// The layouts of a table: a terminal gets the first that leaves room for some of each last cell.
const (
	Roomy = iota
	Narrow
	Narrowest
)

const (
	lastRoom   = 14 // columns of the terminal that the last cells have at least
	narrowRoom = 16 // that another cell has at most in a tight layout
)

// Table is a table with a line of titles. Its last column is as wide as its cells.
type Table[R any] struct {
	Rows []R
	// Columns returns the columns of a layout; those that it has no room for are left out.
	Columns func(layout int) []Column[R]
	Behind  func(*Screen, R) // prints what stands behind a row; nil: nothing does
}

// Print prints the table, unless it is empty. On a narrow terminal it leaves columns out and cuts lines.
func (t Table[R]) Print(screen *Screen) {
	if len(t.Rows) == 0 {
		return
	}
	columns, layout := t.fit(screen)
	screen.Fit(Clip)
	row := func(cell func(Column[R]) (Style, string)) {
		for i, c := range columns {
			how, text := cell(c)
			text = Plain(text)
			if layout > Roomy && c.Width > 0 {
				text = phrase.CutColumns(text, c.Width)
			}
			pad := strings.Repeat(" ", max(c.Width-Columns(text), 0))
			if c.Right {
				text = pad + text
			} else {
				text += pad
			}
			screen.Paint(Unpainted, strings.Repeat("  ", min(i, 1)))
			screen.Paint(how, text)
		}
	}
	row(func(c Column[R]) (Style, string) { return Dim, c.Title })
	screen.Paint(Unpainted, "\n")
	for _, r := range t.Rows {
		row(func(c Column[R]) (Style, string) {
			if c.Style == nil {
				return Unpainted, c.Cell(r)
			}
			return c.Style(r), c.Cell(r)
		})
		if t.Behind != nil {
			t.Behind(screen, r)
		}
		screen.Paint(Unpainted, "\n")
	}
}

// fit returns the columns in the layout that fits the screen, and which it is.
func (t Table[R]) fit(screen *Screen) (columns []Column[R], layout int) {
	for {
		columns = t.measure(layout)
		total := lastRoom
		for _, c := range columns {
			total += c.Width + 2
		}
		if layout == Narrowest || !screen.Narrow(total) {
			for i := range columns {
				if c := &columns[i]; c.Widens {
					c.Width = max(c.Width, min(c.full, c.Width+screen.Width-total))
				}
			}
			return columns, layout
		}
		layout++
	}
}

// measure returns the columns of a layout, each as wide as its longest cell.
func (t Table[R]) measure(layout int) (columns []Column[R]) {
	for _, c := range t.Columns(layout) {
		if layout > c.UpTo {
			continue
		}
		c.Width = max(c.Width, len(c.Title))
		for _, r := range t.Rows {
			c.Width = max(c.Width, Columns(Plain(c.Cell(r))))
		}
		c.full = c.Width
		if layout > Roomy && !c.IsWhole {
			c.Width = min(c.Width, narrowRoom)
		}
		columns = append(columns, c)
	}
	columns[len(columns)-1].Width = 0
	return columns
}
