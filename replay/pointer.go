package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcprec/mcprec/store"
)

// Pointer is a JSON pointer (RFC 6901) from a message's root, in which * stands for
// any one member or element: /params/arguments/items/*/at. In a text that is JSON itself
// it goes on: /result/content/0/text/items/3.
type Pointer struct {
	steps []string
	used  *atomic.Bool // it has covered a place; shared by all copies
}

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
	return Pointer{steps, new(atomic.Bool)}, nil
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
	if p.used != nil && !p.used.Load() {
		p.used.Store(true)
	}
	return true
}

// Places is the projection that finds pointers which name no place in any message: they are
// most likely misspelled.
type Places struct{ left []Pointer }

// UnusedPlaces returns a Places for the pointers of the rules that have covered no place
// so far. They may still name places that no comparison had to look at.
func (r Rules) UnusedPlaces() *Places {
	return &Places{slices.DeleteFunc(slices.Clone(r.Ignore), func(p Pointer) bool { return p.used == nil || p.used.Load() })}
}

// Apply takes the next event.
func (p *Places) Apply(e store.Event) error {
	if e.Kind != store.Frame || len(p.left) == 0 {
		return nil
	}
	for _, m := range messagesOf(e.AsFrame()) {
		parts := map[string][]byte{"params": m.Params, "result": m.Result, "error": m.Error}
		p.left = slices.DeleteFunc(p.left, func(p Pointer) bool {
			for name, raw := range parts {
				if len(raw) > 0 && (p.steps[0] == name || p.steps[0] == "*") && hasPlace(treeOf(raw), p.steps[1:]) {
					return true
				}
			}
			return false
		})
	}
	return nil
}

// Left returns the pointers that named no place.
func (p *Places) Left() []Pointer { return p.left }

// hasPlace reports whether there is something at a place below a value.
func hasPlace(n tree, steps []string) bool {
	if n.kind == '"' && len(steps) > 0 && isDocument(n.text) {
		inner, err := parseTree([]byte(n.text))
		return err == nil && hasPlace(inner, steps)
	}
	if len(steps) == 0 {
		return n.kind != 0
	}
	for i, kid := range n.kids {
		name := strconv.Itoa(i)
		if n.kind == '{' {
			name = n.keys[i]
		}
		if (steps[0] == "*" || steps[0] == name) && hasPlace(kid, steps[1:]) {
			return true
		}
	}
	return false
}
