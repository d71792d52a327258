package transport

import (
	"encoding/json"
	"iter"
	"strconv"
)

// members yields the members of a JSON object in order, duplicates included,
// without copying. b must be valid JSON; what is not an object has no members.
func members(b []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for key, at := range spans(b) {
			if !yield(key, b[at.from:at.to:at.to]) {
				return
			}
		}
	}
}

// spans yields where the values of the members are.
func spans(b []byte) iter.Seq2[string, span] {
	return func(yield func(string, span) bool) {
		i := blank(b, 0)
		if i == len(b) || b[i] != '{' {
			return
		}
		for i = blank(b, i+1); b[i] != '}'; {
			end := value(b, i)
			key := b[i:end]
			from := blank(b, blank(b, end)+1) // over the colon
			end = value(b, from)
			if !yield(keyText(key), span{uint32(from), uint32(end)}) {
				return
			}
			if i = blank(b, end); b[i] == ',' {
				i = blank(b, i+1)
			}
		}
	}
}

// elements yields the places of a JSON array's elements, as spans does of members.
func elements(b []byte) iter.Seq2[int, span] {
	return func(yield func(int, span) bool) {
		i := blank(b, 0)
		if i == len(b) || b[i] != '[' {
			return
		}
		i = blank(b, i+1)
		for n := 0; b[i] != ']'; n++ {
			end := value(b, i)
			if !yield(n, span{uint32(i), uint32(end)}) {
				return
			}
			if i = blank(b, end); b[i] == ',' {
				i = blank(b, i+1)
			}
		}
	}
}

// Locate returns where in raw the value at a path begins and ends. A path is object
// keys, of which the last counts if there are two, and in arrays decimal indices.
// raw must be valid JSON or empty.
func Locate(raw json.RawMessage, path ...string) (start, end int, ok bool) {
	end = len(raw)
	for _, step := range path {
		var found *span
		for key, at := range spans(raw[start:end]) {
			if key == step {
				found = &at
			}
		}
		for n, at := range elements(raw[start:end]) {
			if strconv.Itoa(n) == step {
				found = &at
			}
		}
		if found == nil {
			return 0, 0, false
		}
		start, end = start+int(found.from), start+int(found.to)
	}
	return start, end, true
}

// keyText returns the text of a JSON string.
func keyText(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' || c >= 0x80 {
			var s string
			_ = json.Unmarshal(quoted, &s) // valid, as all of b is
			return s
		}
	}
	return intern(quoted[1 : len(quoted)-1])
}

// intern returns a key's string. The keys of every frame cost no allocation.
func intern(key []byte) string {
	for _, k := range frequent {
		if string(key) == k {
			return k
		}
	}
	return string(key)
}

var frequent = [...]string{
	"jsonrpc", "id", "method", "params", "result", "error",
	"_meta", "name", "arguments", "progressToken", "progress", "requestId",
}

// methodText returns the text of a JSON string that is a method. A long session
// holds one string for all the messages of a method.
func methodText(quoted []byte) string {
	if method, ok := usual[string(quoted[1:len(quoted)-1])]; ok {
		return method
	}
	return keyText(quoted)
}

// usual are the methods of all revisions, by themselves. They mean nothing here.
var usual = func() map[string]string {
	m := map[string]string{}
	for _, method := range [...]string{
		"initialize", "ping", "server/discover", "completion/complete", "elicitation/create", "logging/setLevel",
		"prompts/get", "prompts/list", "resources/list", "resources/read", "resources/subscribe",
		"resources/templates/list", "resources/unsubscribe", "roots/list", "sampling/createMessage",
		"subscriptions/listen", "tasks/cancel", "tasks/get", "tasks/list", "tasks/result", "tools/call", "tools/list",
		"notifications/cancelled", "notifications/elicitation/complete", "notifications/initialized",
		"notifications/message", "notifications/progress", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated", "notifications/roots/list_changed",
		"notifications/subscriptions/acknowledged", "notifications/tasks/status", "notifications/tools/list_changed",
	} {
		m[method] = method
	}
	return m
}()

// blank returns the index of the first byte from i on that is not white space.
func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// value returns the index after the JSON value that begins at i.
func value(b []byte, i int) int {
	switch b[i] {
	case '"':
		return text(b, i)
	case '{', '[':
		return nested(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// text returns the index after the string that begins at i.
func text(b []byte, i int) int {
	for i = plainEnd(b, i+1); b[i] != '"'; i = plainEnd(b, i) {
		if i++; b[i-1] == '\\' {
			i++
		}
	}
	return i + 1
}

// nested returns the index after the object or array that begins at i.
func nested(b []byte, i int) int {
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = text(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
