package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// definitions are the tools that were listed: of each its members' hashes and where
// it was listed last.
type definitions map[string]definition

type definition struct {
	seq     uint64
	members map[string]uint64
	params  []param
}

// mostTools is how many tools are compared; a list may be as long as it likes.
const mostTools = 10_000

// toolsOf returns the tools of a list by name; of two with one name the last.
func toolsOf(result json.RawMessage) map[string]json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(transport.Member(result, "tools"), &list) != nil {
		return nil
	}
	tools := map[string]json.RawMessage{}
	for _, raw := range list {
		var name string
		if json.Unmarshal(transport.Member(raw, "name"), &name) == nil {
			tools[name] = raw
		}
	}
	return tools
}

// defines compares the tools of a list with what they were.
func (f *Fold) defines(e store.Event, s *scope, result json.RawMessage) {
	tools := toolsOf(result)
	for _, name := range sortedKeys(tools) {
		var members map[string]json.RawMessage
		if json.Unmarshal(tools[name], &members) != nil {
			continue
		}
		now := definition{e.Seq, hashes(members), nil}
		if bytes.Contains(tools[name], []byte("x-mcp-header")) {
			now.params = paramsOf(members["inputSchema"], nil, nil)
		}
		before, known := f.tools[name]
		if !known && len(f.tools) >= mostTools {
			return
		}
		f.tools[name] = now
		if changed := now.changed(before); known && len(changed) > 0 {
			f.finds(redefined, e.Dir, s.rules.Revision(), []uint64{e.Seq, before.seq},
				"tool %s has another %s than in #%d", quote(name), strings.Join(changed, ", "), before.seq)
		}
	}
}

// hashes returns the hash of each member, however it is spaced.
func hashes(members map[string]json.RawMessage) map[string]uint64 {
	sums := make(map[string]uint64, len(members))
	for name, raw := range members {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			sums[name] = maphash.Bytes(idSeed, b.Bytes())
		}
	}
	return sums
}

// changed names the members that differ.
func (d definition) changed(before definition) (names []string) {
	for name, sum := range d.members {
		if before.members[name] != sum {
			names = append(names, clip(name))
		}
	}
	for name := range before.members {
		if _, ok := d.members[name]; !ok {
			names = append(names, fmt.Sprintf("%s (gone)", clip(name)))
		}
	}
	slices.Sort(names)
	return names
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
