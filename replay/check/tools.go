package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules E8 and G4.
var (
	toolStays     = newDemand("E8", "a tool stays what it was", order.Warning, "server/tools, Security Considerations")
	toolAsTrusted = newDemand("G4", "the tools are those of --baseline", order.Error, "")
	toolsListed   = newDemand("G4", "with --baseline the session lists its tools", order.Error, "")
)

// Baseline holds the tools of a trusted session, as it listed them last. It is a projection:
// [Baseline.Take] takes the steps of the session.
type Baseline struct {
	Name  string // of the session, for findings
	tools map[string]any
	lists int
}

// NewBaseline returns a baseline without tools.
func NewBaseline(name string) *Baseline {
	return &Baseline{Name: name, tools: map[string]any{}}
}

// Take takes the next step.
func (b *Baseline) Take(step timeline.Step) error {
	for i := range step.Messages {
		m := &step.Messages[i]
		if m.Role == timeline.Answers && m.Call.Dir == transport.ClientToServer && m.Call.Method == mcp.MethodListTools && m.Result != nil {
			b.lists++
			for name, raw := range toolsOf(m.Result) {
				b.tools[name] = plainValue(raw)
			}
		}
	}
	return nil
}

// Tools returns how many tools there are, in how many lists.
func (b *Baseline) Tools() (tools, lists int) { return len(b.tools), b.lists }

// plainValue reads JSON for a comparison by value.
func plainValue(raw json.RawMessage) any {
	v, err := mcp.Value(raw)
	if err != nil {
		return string(raw)
	}
	return v
}

// toolHistory is rules E8 and G4: the tools as they were listed last.
type toolHistory struct {
	*reporter
	baseline *Baseline // nil: none
	seen     map[string]toolDefinition
	compared map[string]string // how each tool differed from the baseline; "": it did not
	lastList uint64            // the event of the last list
	complete bool              // the last list has no further page
}

// toolDefinition is a tool as it was listed last.
type toolDefinition struct {
	seq     uint64
	members map[string]uint64 // the hash of each, without its blanks
	params  []headerParam
}

// maxTools is how many tools are compared; a list may be of any length.
const maxTools = 10_000

// toolsOf returns the tools of a list by name; of two with the same name the last.
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

// onList compares the tools of a list with the earlier lists, and with the baseline's.
func (h *toolHistory) onList(step timeline.Step, revision string, result json.RawMessage) {
	tools := toolsOf(result)
	for _, name := range sortedKeys(tools) {
		var members map[string]json.RawMessage
		if json.Unmarshal(tools[name], &members) != nil {
			continue
		}
		before, known := h.seen[name]
		if !known && len(h.seen) >= maxTools {
			break
		}
		now := toolDefinition{seq: step.Seq, members: make(map[string]uint64, len(members))}
		for member, raw := range members {
			var b bytes.Buffer
			if json.Compact(&b, raw) == nil {
				now.members[member] = maphash.Bytes(idSeed, b.Bytes())
			}
		}
		if bytes.Contains(tools[name], []byte("x-mcp-header")) {
			now.params = headerParams(members["inputSchema"], nil, nil)
		}
		h.seen[name] = now
		if changed := now.changes(before); known && len(changed) > 0 {
			h.report(toolStays, step.Dir, revision, []uint64{step.Seq, before.seq},
				"tool %s has another %s than in #%d", quote(name), strings.Join(changed, ", "), before.seq)
		}
	}
	if h.baseline == nil {
		return
	}
	for _, name := range sortedKeys(tools) {
		trusted, known := h.baseline.tools[name]
		said := "is not in it"
		if known {
			said = strings.Join(appendDifferences(nil, "", trusted, plainValue(tools[name])), ", ")
		}
		if said != "" && said != h.compared[name] {
			h.report(toolAsTrusted, step.Dir, revision, []uint64{step.Seq}, "tool %s is otherwise than in %s: %s", quote(name), clip(h.baseline.Name), said)
		}
		if len(h.compared) < maxTools {
			h.compared[name] = said
		}
	}
	h.lastList = step.Seq
	h.complete = transport.Member(result, mcp.MemberNextCursor) == nil
}

// close is rule G4 of the baseline's tools missing in the session, which ended with an event, or goes on.
func (h *toolHistory) close(end uint64, live bool) {
	if h.baseline != nil && h.lastList == 0 && !live {
		h.report(toolsListed, transport.NoDirection, "", []uint64{end}, "no tool was compared with those of %s: no tools/list is answered in the session", clip(h.baseline.Name))
	}
	if h.baseline == nil || !h.complete {
		return
	}
	for _, name := range sortedKeys(h.baseline.tools) {
		if _, listed := h.compared[name]; !listed {
			h.report(toolAsTrusted, transport.ServerToClient, "", []uint64{h.lastList}, "tool %s of %s is gone", quote(name), clip(h.baseline.Name))
		}
	}
}

// changes names the differing members.
func (d toolDefinition) changes(before toolDefinition) (names []string) {
	for name, sum := range d.members {
		if before.members[name] != sum {
			names = append(names, clip(name))
		}
	}
	for name := range before.members {
		if _, ok := d.members[name]; !ok {
			names = append(names, clip(name)+" (gone)")
		}
	}
	slices.Sort(names)
	return names
}

// maxDifferences is how many differences of a tool are reported.
const maxDifferences = 10

// appendDifferences appends a sentence for each place in which two values differ, named by
// its JSON pointer.
func appendDifferences(list []string, at string, before, now any) []string {
	add := func(format string, args ...any) []string {
		switch {
		case len(list) < maxDifferences:
			return append(list, fmt.Sprintf(format, args...))
		case len(list) == maxDifferences:
			return append(list, "and more")
		}
		return list
	}
	if len(list) > maxDifferences {
		return list
	}
	switch was := before.(type) {
	case map[string]any:
		if is, ok := now.(map[string]any); ok {
			keys := append(sortedKeys(was), sortedKeys(is)...)
			slices.Sort(keys)
			for _, key := range slices.Compact(keys) {
				place := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
				before, had := was[key]
				now, has := is[key]
				switch {
				case !has:
					list = add("%s is gone", place)
				case !had:
					list = add("%s is new: %s", place, excerptOf(now))
				default:
					list = appendDifferences(list, place, before, now)
				}
			}
			return list
		}
	case []any:
		if is, ok := now.([]any); ok {
			for i := range min(len(was), len(is)) {
				list = appendDifferences(list, at+"/"+strconv.Itoa(i), was[i], is[i])
			}
			if len(was) != len(is) {
				list = add("%s has %s, not %d", at, phrase.Plural(len(is), "element"), len(was))
			}
			return list
		}
	default:
		switch now.(type) {
		case map[string]any, []any: // which == does not compare
		default:
			if before == now {
				return list
			}
		}
	}
	return add("%s is %s, not %s", at, excerptOf(now), excerptOf(before))
}

// excerptOf writes a value for a sentence.
func excerptOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(raw))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
