package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/store"
)

// shownHeader are the headers by which a reader tells exchanges apart.
var shownHeader = []struct{ name, word string }{
	{"Content-Type", ""}, {"Content-Encoding", "coded"}, {"Mcp-Session-Id", "session"}, {"Mcp-Method", "method"},
	{"Last-Event-Id", "after event"}, {"Location", "to"}, {"Www-Authenticate", "wants"}, {"Retry-After", "retry after"},
}

// httpText says what happened to an exchange.
func httpText(info store.HTTPInfo) string {
	parts := []string{info.What}
	add := func(word, value string) {
		if value != "" {
			parts = append(parts, strings.TrimSpace(word+" "+value))
		}
	}
	add("", info.Method)
	add("", clip(info.Path))
	if info.Status != 0 {
		add("", strconv.Itoa(info.Status))
	}
	for _, h := range shownHeader {
		add(h.word, shownValue(h.name, strings.Join(info.Header[h.name], ", ")))
	}
	if s := info.SSE; s != nil {
		add("", clip(s.Event))
		add("id", shortID(s.ID))
		add("retry", clip(s.Retry))
		if s.Event+s.ID+s.Retry == "" {
			add("", strconv.Quote(clip(strings.Join(s.Lines, "\n"))))
		}
		if s.Frame != 0 {
			add("of", fmt.Sprintf("#%d", s.Frame))
		}
	}
	if info.Withheld {
		add("", "(bodies not recorded)")
	}
	add("", excerpt([]byte(info.Body)))
	if len(info.Body64) > 0 {
		add(info.Coding, fmt.Sprintf("(%d B)", len(info.Body64)))
	}
	if info.Dropped > 0 {
		add("", fmt.Sprintf("(%d B beyond the limit)", info.Dropped))
	}
	if info.Error != "" {
		parts[len(parts)-1] += ":"
		add("", clip(info.Error))
	}
	return strings.Join(parts, " ")
}

// shownValue returns a header's value for a reader.
func shownValue(name, value string) string {
	if name == "Mcp-Session-Id" || name == "Last-Event-Id" {
		return shortID(value)
	}
	return clip(value)
}

// shortID returns the beginning of an id that stands in line after line.
func shortID(id string) string {
	limit := 12
	if strings.HasPrefix(id, "[redacted:") {
		limit += len("[redacted:")
	}
	if id = clip(id); len(id) <= limit {
		return id
	}
	return strings.ToValidUTF8(id[:limit], "") + "…"
}
