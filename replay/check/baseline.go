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

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Baseline is the tools of a session that is trusted, as it listed them last. It is a
// projection: [Baseline.Apply] takes the events of that session.
type Baseline struct {
	Name  string // of the session, as it is to be called
	tools map[string]any
	asked map[string]bool // the tools/list that are open, by exchange and id
	lists int
}

// NewBaseline returns one without tools.
func NewBaseline(name string) *Baseline {
	return &Baseline{Name: name, tools: map[string]any{}, asked: map[string]bool{}}
}

// Apply takes the next event.
func (b *Baseline) Apply(e store.Event) error {
	if e.Kind != store.Frame {
		return nil
	}
	messages, err := e.AsFrame().Messages()
	if err != nil {
		return nil // noise
	}
	for _, m := range messages {
		id := string(mcp.KeyOf(m.ID))
		key := strconv.FormatUint(e.Stream, 10) + " " + id
		switch {
		case e.Dir == transport.ClientToServer && m.Method == mcp.MethodListTools:
			b.asked[key] = true
		case e.Dir == transport.ServerToClient && m.Kind() == transport.Response && b.take(key, id) && m.Result != nil:
			b.lists++
			for name, raw := range toolsOf(m.Result) {
				b.tools[name] = plainValue(raw)
			}
		}
	}
	return nil
}

// take reports whether a response answers a tools/list: of its exchange, or over
// HTTP+SSE of another.
func (b *Baseline) take(key, id string) bool {
	if b.asked[key] {
		delete(b.asked, key)
		return true
	}
	for other := range b.asked {
		if strings.HasSuffix(other, " "+id) {
			delete(b.asked, other)
			return true
		}
	}
	return false
}

// Tools returns how many tools there are, in how many lists.
func (b *Baseline) Tools() (tools, lists int) { return len(b.tools), b.lists }

// plainValue reads JSON so that equal values compare equal.
func plainValue(raw json.RawMessage) any {
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return v
}

// likeness is how a session's tools compare with a baseline's.
type likeness struct {
	seen  map[string]string // what was found of each tool
	list  uint64            // the last list
	whole bool              // it came to its end
}

// compares is rule G4 of the tools of a list.
func (f *Fold) compares(e store.Event, s *scope, result json.RawMessage) {
	base := f.gate.Baseline
	if base == nil {
		return
	}
	tools := toolsOf(result)
	for _, name := range sortedKeys(tools) {
		before, known := base.tools[name]
		said := "is not in it"
		if known {
			said = strings.Join(placesOf(before, plainValue(tools[name]), "", nil), ", ")
		}
		if old := f.like.seen[name]; said != "" && said != old {
			f.finds(unlike, e.Dir, s.rules.Revision(), []uint64{e.Seq}, "tool %s is otherwise than in %s: %s", quote(name), clip(base.Name), said)
		}
		if len(f.like.seen) < mostTools {
			f.like.seen[name] = said
		}
	}
	f.like.list, f.like.whole = e.Seq, transport.Member(result, mcp.MemberNextCursor) == nil
}

// missing is rule G4 of what a session's lists do not have.
func (f *Fold) missing() {
	base := f.gate.Baseline
	if base == nil || !f.like.whole {
		return
	}
	for _, name := range sortedKeys(base.tools) {
		if _, listed := f.like.seen[name]; !listed {
			f.finds(unlike, transport.ServerToClient, "", []uint64{f.like.list}, "tool %s of %s is gone", quote(name), clip(base.Name))
		}
	}
}

// mostPlaces is how many places of a tool that differ are told.
const mostPlaces = 10

// placesOf lists the places in which two values differ, as JSON pointers.
func placesOf(before, now any, at string, list []string) []string {
	if len(list) > mostPlaces {
		return list
	}
	switch was := before.(type) {
	case map[string]any:
		if is, ok := now.(map[string]any); ok {
			keys := append(sortedKeys(was), sortedKeys(is)...)
			slices.Sort(keys)
			for _, key := range slices.Compact(keys) {
				list = placeOf(was, is, key, at, list)
			}
			return list
		}
	case []any:
		if is, ok := now.([]any); ok {
			for i := range min(len(was), len(is)) {
				list = placesOf(was[i], is[i], at+"/"+strconv.Itoa(i), list)
			}
			if len(was) != len(is) {
				list = tell(list, "%s has %s, not %d", at, phrase.Plural(len(is), "element"), len(was))
			}
			return list
		}
	default:
		if sameValue(before, now) {
			return list
		}
	}
	return tell(list, "%s is %s, not %s", at, shown(now), shown(before))
}

func placeOf(was, is map[string]any, key, at string, list []string) []string {
	at += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	before, had := was[key]
	now, has := is[key]
	switch {
	case !has:
		return tell(list, "%s is gone", at)
	case !had:
		return tell(list, "%s is new: %s", at, shown(now))
	}
	return placesOf(before, now, at, list)
}

// tell adds what is said of a place, and behind the last that there are more.
func tell(list []string, format string, args ...any) []string {
	switch {
	case len(list) < mostPlaces:
		return append(list, fmt.Sprintf(format, args...))
	case len(list) == mostPlaces:
		return append(list, "and more")
	}
	return list
}

// sameValue compares two values of which one is neither object nor list.
func sameValue(a, b any) bool {
	x, ok := a.(json.Number)
	y, ok2 := b.(json.Number)
	if ok && ok2 {
		return x == y || sameNumber(string(x), string(y))
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// shown is a value for a sentence.
func shown(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(raw))
}

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
