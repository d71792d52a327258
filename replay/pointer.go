package replay

import (
	"fmt"
	"strings"
)

// Pointer is a JSON pointer (RFC 6901) from a message's root, in which * stands for
// any one member or element: /params/arguments/items/*/at.
type Pointer struct{ steps []string }

// ParsePointer reads a JSON pointer.
func ParsePointer(text string) (Pointer, error) {
	if !strings.HasPrefix(text, "/") {
		return Pointer{}, fmt.Errorf("JSON pointer %q: want one from the message's root, such as /params/arguments/when", text)
	}
	steps := strings.Split(text[1:], "/")
	for i, s := range steps {
		for j := 0; j < len(s); j++ {
			if s[j] == '~' && (j+1 == len(s) || s[j+1] != '0' && s[j+1] != '1') {
				return Pointer{}, fmt.Errorf("JSON pointer %q: write ~0 for ~ and ~1 for / in a member's name", text)
			}
		}
		steps[i] = pointerUnescape.Replace(s)
	}
	return Pointer{steps}, nil
}

var (
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// String returns the pointer as it is written.
func (p Pointer) String() string { return pointerText(p.steps) }

func pointerText(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteByte('/')
		pointerEscape.WriteString(&b, s)
	}
	return b.String()
}

// covers reports whether the pointer names the place.
func (p Pointer) covers(path []string) bool {
	if len(p.steps) != len(path) {
		return false
	}
	for i, s := range p.steps {
		if s != "*" && s != path[i] {
			return false
		}
	}
	return true
}
