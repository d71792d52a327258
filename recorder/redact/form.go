package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// addValue adds a secret itself, as it stands in text, in a URL, in JSON and in JSON
// that is in a string.
func (f *finder) addValue(value string) {
	if len(value) < 4 {
		return
	}
	for _, form := range formsOf(value) {
		f.add(literal{text: folded(form[:min(len(form), 16)]), match: exactly(value, form)})
	}
}

// formsOf returns the forms of a value that differ, itself first.
func formsOf(value string) []string {
	forms := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	level := []string{value}
	for range 2 {
		var next []string
		for _, v := range level {
			next = append(next, inJSON(v)...)
		}
		level = different(next)
		forms = append(forms, level...)
	}
	return different(forms)
}

// inJSON returns how encoders write a text in a string: with no more escapes than must
// be, of slashes, of what browsers take for tags, of all that is not ASCII.
func inJSON(text string) []string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string has an encoding
	plain := strings.TrimSuffix(b.String(), "\n")
	plain = plain[1 : len(plain)-1]
	web, _ := json.Marshal(text)
	var ascii strings.Builder
	for _, r := range plain {
		switch {
		case r < 0x80:
			ascii.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		}
	}
	return []string{plain, strings.ReplaceAll(plain, "/", `\/`), string(web[1 : len(web)-1]), ascii.String()}
}

func different(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
