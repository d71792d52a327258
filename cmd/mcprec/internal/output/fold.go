package output

import (
	"regexp"
	"strings"
)

// column matches the beginning of a line of a table of two columns: the first and the gap behind it.
var column = regexp.MustCompile(`^ *\S+(?: \S+)*(?: {2,})\S`)

// Fold breaks the lines of a text that are longer than so many columns, at blanks. A paragraph, whose
// lines begin at the margin, is filled anew. The rest of an indented line goes on under its second
// column, if it has one, else under its beginning. A command alone is left whole.
func Fold(text string, columns int) string {
	var out []string
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, foldLine(strings.Join(paragraph, " "), 0, columns)...)
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		isProse := line != "" && line[0] != ' ' && !strings.HasSuffix(line, ":")
		if isProse {
			paragraph = append(paragraph, line)
			continue
		}
		if strings.HasSuffix(line, ":") && len(paragraph) > 0 && line[0] != ' ' { // it ends the paragraph
			paragraph = append(paragraph, line)
			end()
			continue
		}
		end()
		if strings.HasPrefix(strings.TrimLeft(line, " "), "mcprec ") && !column.MatchString(line) { // to be copied
			out = append(out, line)
			continue
		}
		out = append(out, foldLine(line, hanging(line), columns)...)
	}
	end()
	return strings.Join(out, "\n") + "\n"
}

// hanging returns where the rest of a line goes on.
func hanging(line string) int {
	if second := column.FindString(line); second != "" {
		return Columns(second) - 1
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}

func foldLine(line string, indent, columns int) (lines []string) {
	for _, part := range wrapHanging([]Segment{{Unpainted, line}}, indent, columns) {
		lines = append(lines, plainOf(part))
	}
	return lines
}
