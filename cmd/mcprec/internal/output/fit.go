package output

import (
	"regexp"
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Fit says how a [Screen] prints a line that is longer than the terminal is wide.
type Fit uint8

const (
	Whole Fit = iota // as it is
	Clip             // cut, with … at its end
	Wrap             // on several lines, the later ones indented
)

// Segment is a part of a line in one style. Its text is plain.
type Segment struct {
	How  Style
	Text string
}

// Columns returns how many columns a plain text takes.
func Columns(text string) (n int) {
	for _, r := range text {
		n += phrase.RuneColumns(r)
	}
	return n
}

// ClipLine cuts a line to a number of columns, the last of which is then ….
func ClipLine(line []Segment, columns int) []Segment {
	used := 0
	cut := -1
	at := 0 // the line is cut in segment cut at byte at, if it proves to be too long
	for i, s := range line {
		for j, r := range s.Text {
			used += phrase.RuneColumns(r)
			if cut < 0 && used > columns-1 {
				cut, at = i, j
			}
			if used > columns {
				return append(line[:cut:cut], Segment{line[cut].How, line[cut].Text[:at] + "…"})
			}
		}
	}
	return line
}

// wrapLine breaks a line of plain segments at blanks into lines of at most so many columns, or
// within a word that is longer. Later lines stand under the second column of a table, if the line has one, or
// are indented by two columns more than the first. A command that is there to be copied stays whole.
func wrapLine(line []Segment, columns int) (lines [][]Segment) {
	text := plainOf(line)
	if toCopy.MatchString(text) {
		return [][]Segment{line}
	}
	indent := len(text) - len(strings.TrimLeft(text, " ")) + 2
	if second := column.FindString(text); second != "" && !strings.HasPrefix(strings.TrimLeft(text, " 0123456789"), "|") {
		indent = Columns(second) - 1
	}
	return wrapHanging(line, indent, columns)
}

// toCopy matches a line that is a command alone, or one behind a word such as «Next:».
var toCopy = regexp.MustCompile(`^ *(?:[A-Z][a-z ]*: )?mcprec [a-z]`)

// plainOf joins the texts of a line.
func plainOf(line []Segment) (text string) {
	for _, s := range line {
		text += s.Text
	}
	return text
}

// wrapHanging is wrapLine with later lines that are indented by so many columns, if enough are left for some words.
func wrapHanging(line []Segment, indent, columns int) (lines [][]Segment) {
	rest := plainOf(line)
	room := columns
	const some = 24
	if columns-indent < min(some, columns/2) {
		indent = min(4, columns/2)
	}
	for Columns(rest) > room {
		end := len(rest)
		blank := 0
		used := 0
		for i, r := range rest {
			if r == ' ' && strings.TrimLeft(rest[:i], " ") != "" {
				blank = i
			}
			if used += phrase.RuneColumns(r); used > room {
				end = max(i, 1)
				break
			}
		}
		if blank > 0 {
			end = blank
		}
		first := takeText(&line, end)
		rest = rest[end:]
		blanks := len(rest) - len(strings.TrimLeft(rest, " "))
		takeText(&line, blanks)
		rest = rest[blanks:]
		if len(lines) > 0 {
			first = append([]Segment{{Unpainted, strings.Repeat(" ", indent)}}, first...)
		}
		lines = append(lines, first)
		room = columns - indent
	}
	if len(lines) > 0 {
		if rest == "" {
			return lines
		}
		line = append([]Segment{{Unpainted, strings.Repeat(" ", indent)}}, line...)
	}
	return append(lines, line)
}

// takeText removes the first n bytes of a line's text and returns them.
func takeText(line *[]Segment, n int) (taken []Segment) {
	for n > 0 {
		s := &(*line)[0]
		if len(s.Text) > n {
			taken = append(taken, Segment{s.How, s.Text[:n]})
			s.Text = s.Text[n:]
			break
		}
		taken = append(taken, *s)
		n = n - len(s.Text)
		*line = (*line)[1:]
	}
	return taken
}
