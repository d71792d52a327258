package shrink

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
)

// edit makes one frame's payload smaller: a member that no schema wants is taken
// out, a list is emptied.
type edit struct {
	frame int
	in    string // "params", "result", "params/_meta" or "result/_meta"
	key   string
}

func sortedEdits(set map[edit]bool) []edit {
	list := make([]edit, 0, len(set))
	for e := range set {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.frame, b.frame), cmp.Compare(a.in, b.in), cmp.Compare(a.key, b.key))
	})
	return list
}

// required are the members that the schemas of any revision want, or that name,
// identify or carry a value; all others may go. Keys mean the same in every
// method, but for the two in optional.
var required = words(`
	protocolVersion capabilities clientInfo serverInfo supportedVersions name uri ref argument level
	requestId progressToken progress message data cursor nextCursor mode url requestedSchema elicitationId
	messages maxTokens model role content contents prompts resources resourceTemplates tools roots tasks
	completion action task taskId status ttl createdAt lastUpdatedAt notifications resultType ttlMs cacheScope
	requestState inputRequests inputResponses isError structuredContent`)

// optional are members that a method does not want although others do.
var optional = map[string][]string{methodProgress: {"message"}}

// emptied are the lists that may be empty.
var emptied = words("content contents prompts resources resourceTemplates tools roots tasks")

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

const metaPrefix = "io.modelcontextprotocol/"

// member is one member of a JSON object as it stands there.
type member struct {
	key string
	raw json.RawMessage
}

// object reads the members of a JSON object; nil of anything else.
func object(raw []byte) []member {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	list := []member{}
	for dec.More() {
		var m member
		key, err := dec.Token()
		if err != nil || dec.Decode(&m.raw) != nil {
			return nil
		}
		m.key, _ = key.(string)
		list = append(list, m)
	}
	return list
}

func encode(list []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(m.key)
		b = append(append(append(b, key...), ':'), m.raw...)
	}
	return append(b, '}')
}

// edits lists what may be taken out of a frame. Batches and noise stay as they are.
func edits(frame int, e store.Event) []edit {
	if !json.Valid(e.Payload) {
		return nil
	}
	var list []edit
	top := object(e.Payload)
	method := ""
	for _, m := range top {
		if m.key == "method" {
			_ = json.Unmarshal(m.raw, &method)
		}
	}
	for _, m := range top {
		if m.key != "params" && m.key != "result" {
			continue
		}
		for _, inner := range object(m.raw) {
			list = append(list, editsOf(frame, m.key, method, inner)...)
		}
	}
	return list
}

func editsOf(frame int, in, method string, m member) []edit {
	switch {
	case m.key == "_meta":
		var list []edit
		for _, meta := range object(m.raw) {
			if meta.key != "progressToken" && !strings.HasPrefix(meta.key, metaPrefix) {
				list = append(list, edit{frame, in + "/_meta", meta.key})
			}
		}
		return list
	case !required[m.key], slices.Contains(optional[method], m.key):
		return []edit{{frame, in, m.key}}
	case in == "result" && emptied[m.key] && len(m.raw) > 2 && m.raw[0] == '[':
		return []edit{{frame, in, m.key}}
	}
	return nil
}

// strip applies the edits of a frame; without any it returns the payload as it is.
func strip(payload []byte, frame int, set map[edit]bool) []byte {
	if len(set) == 0 {
		return payload
	}
	top := object(payload)
	changed := false
	for i, m := range top {
		if m.key != "params" && m.key != "result" {
			continue
		}
		inner, touched := stripObject(object(m.raw), frame, m.key, set)
		for j, n := range inner {
			if n.key == "_meta" {
				meta, also := stripObject(object(n.raw), frame, m.key+"/_meta", set)
				if also {
					inner[j].raw, touched = encode(meta), true
				}
			}
		}
		if touched {
			top[i].raw, changed = encode(inner), true
		}
	}
	if !changed {
		return payload
	}
	return encode(top)
}

func stripObject(list []member, frame int, in string, set map[edit]bool) (left []member, changed bool) {
	for _, m := range list {
		if !set[edit{frame, in, m.key}] {
			left = append(left, m)
			continue
		}
		changed = true
		if in == "result" && emptied[m.key] {
			left = append(left, member{m.key, json.RawMessage("[]")})
		}
	}
	return left, changed
}
