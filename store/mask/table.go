package mask

import (
	"bytes"
	"strings"
)

// table is a table of CSV, tabs or Markdown, as far as it has been read.
type table struct {
	columns map[int]level // that are secret
	cut     byte          // between columns
}

// look returns the edits of the lines of a text from a place on.
func (t *table) look(m *Masker, text []byte, at int) (edits []edit) {
	for line := range bytes.Lines(text[at:]) {
		if len(t.columns) == 0 || bytes.IndexByte(line, t.cut) < 0 { // it may be a heading
			t.columns = nil
			i := bytes.IndexAny(line, "|\t,;")
			at += len(line)
			if i < 0 || len(line) > reach || line[len(line)-1] != '\n' || bytes.ContainsAny(line, ":=(){}.0123456789") {
				continue
			}
			t.cut = line[i]
			if inside := bytes.Trim(line, " \r\n"+string(t.cut)); bytes.IndexByte(inside, t.cut) < 0 { // one column is no table
				continue
			}
			isProse := (t.cut == ',' || t.cut == ';') && line[i+1] == ' ' // unless each cell is a word
			for k, cell := range bytes.Split(line, line[i:i+1]) {
				name := strings.Trim(string(cell), " \r\n\"'`")
				if l := m.rules.levelOf(name); l >= credential && strings.Count(name, " ") < 2 && !(isProse && bytes.ContainsAny(bytes.TrimSpace(line[:i]), " ")) {
					if t.columns == nil {
						t.columns = map[int]level{}
					}
					t.columns[k] = l
				}
			}
			continue
		}
		for k, cell := range bytes.SplitAfter(line, []byte{t.cut}) {
			v := bytes.Trim(cell, " \r\n\"'`-:"+string(t.cut))
			if _, _, ok := t.columns[k].hides(m.rules, v); ok {
				from := at + bytes.Index(cell, v)
				edits = append(edits, m.hide(text, from, from+len(v), "column")...)
			}
			at += len(cell)
		}
	}
	return edits
}
