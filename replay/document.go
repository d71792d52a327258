package replay

import (
	"slices"
	"strings"
)

// compareDocuments compares two texts that are JSON themselves, as tools have it
// whose results are texts, place by place. It reports false of other texts, and of
// two that say the same and are only spelled otherwise.
func (c *comparer) compareDocuments(a, b tree) bool {
	if a.kind != '"' || b.kind != '"' || !isDocument(a.text) || !isDocument(b.text) {
		return false
	}
	inner := comparer{rules: c.rules, variables: c.variables, recorded: []byte(a.text), live: []byte(b.text), terse: c.terse}
	inner.outer = slices.Concat(c.outer, c.path)
	x, errX := parseTree(inner.recorded)
	y, errY := parseTree(inner.live)
	if errX != nil || errY != nil {
		return false
	}
	if inner.compare(x, y); inner.count == 0 && len(inner.mapped) == 0 {
		return false
	}
	path := pointerText(c.path)
	for _, d := range inner.differences {
		if len(c.differences) < keptDifferences {
			d.Path, d.Within = path, d.Path+d.Within
			c.differences = append(c.differences, d)
		}
	}
	c.count += inner.count
	for _, m := range inner.mapped {
		m.Path = path
		c.mapped = append(c.mapped, m)
	}
	return true
}

// isDocument reports whether a text may be a JSON object or list.
func isDocument(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) > 1 && (text[0] == '{' && text[len(text)-1] == '}' || text[0] == '[' && text[len(text)-1] == ']')
}

// Place says where the difference is: /result/content/0/text, within it /items/3/id.
func (d Difference) Place() string {
	if d.Within == "" {
		return d.Path
	}
	return d.Path + ", within it " + d.Within
}
