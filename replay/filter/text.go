package filter

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// anywhere is the field without a name: a text that is somewhere in the event.
var anywhere = Field{Wants: "a text", splits: "|", make: texts}

// texts looks for a text without minding case: in the bytes of the event, in what
// show says of it, and in its call's method and target, which an answer does not repeat.
func texts(v value) (func(*subject) bool, error) {
	parts := []string{v.text}
	if !v.quoted {
		parts = strings.Split(v.text, "*")
	}
	for i, p := range parts {
		parts[i] = strings.ToLower(p)
	}
	return func(s *subject) bool {
		return isIn(s.entry.Payload, parts) || isIn(unescaped(s.entry.Payload), parts) || isIn([]byte(s.words()), parts)
	}, nil
}

// words is what is said of the event beside its bytes.
func (s *subject) words() string {
	var b strings.Builder
	b.WriteString(s.entry.Text)
	if s.message != nil {
		b.WriteString(" " + s.message.Summary())
	}
	if s.call != nil {
		b.WriteString(" " + s.call.Method + " " + s.call.Target)
	}
	return b.String()
}

// isIn reports whether the parts, in lower case, stand in text one behind the other.
func isIn(text []byte, parts []string) bool {
	if len(text) == 0 {
		return false
	}
	text = bytes.ToLower(text)
	for _, p := range parts {
		i := bytes.Index(text, []byte(p))
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return true
}

// unescaped returns JSON with the characters that its texts have as \u, nil if none are.
func unescaped(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u`)) {
		return nil
	}
	var out []byte
	for len(b) > 0 {
		if r, rest, ok := escape(b); ok {
			out, b = utf8.AppendRune(out, r), rest
			continue
		}
		n := 1
		if b[0] == '\\' && len(b) > 1 {
			n = 2
		}
		out, b = append(out, b[:n]...), b[n:]
	}
	return out
}

// pattern compares whole texts: * in a value that is not quoted is anything.
func (v value) pattern() func(string) bool {
	if v.quoted || !strings.Contains(v.text, "*") {
		return func(s string) bool { return s == v.text }
	}
	parts := strings.Split(v.text, "*")
	first, last, between := parts[0], parts[len(parts)-1], parts[1:len(parts)-1]
	return func(s string) bool {
		if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
			return false
		}
		s = s[len(first) : len(s)-len(last)]
		for _, p := range between {
			i := strings.Index(s, p)
			if i < 0 {
				return false
			}
			s = s[i+len(p):]
		}
		return true
	}
}
