package shrink

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
)

// choice describes a candidate.
type choice struct {
	keep     []bool // by part; a kept part has its needs
	alone    []bool // by group: the group's frames stand together
	extras   bool
	edits    map[edit]bool
	capacity replay.Capacity
}

func (x choice) clone() choice {
	x.keep, x.alone = slices.Clone(x.keep), slices.Clone(x.alone)
	return x
}

// only returns the choice with just these parts.
func (x choice) only(parts []int) choice {
	x = x.clone()
	clear(x.keep)
	for _, p := range parts {
		x.keep[p] = true
	}
	return x
}

// parts lists the kept parts.
func (x choice) parts() []int {
	var list []int
	for p, keep := range x.keep {
		if keep {
			list = append(list, p)
		}
	}
	return list
}

// key tells choices apart: no choice is tried twice.
func (x choice) key() string {
	var b []byte
	for _, list := range [][]bool{x.keep, x.alone, {x.extras}} {
		for _, v := range list {
			b = append(b, flag(v))
		}
	}
	var edits []string
	for e := range x.edits {
		edits = append(edits, fmt.Sprintf("%d %q %q", e.frame, e.in, e.key))
	}
	slices.Sort(edits)
	sum := sha256.Sum256(fmt.Append(b, x.capacity, edits))
	return string(sum[:])
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// order returns the kept frames in the candidate's order: as recorded, but a group that
// stands alone stands together, from its first frame.
func (c *cut) order(x choice) []int {
	var list []int
	done := map[int]bool{}
	for f, p := range c.partOf {
		g := c.groupOf[p]
		switch {
		case !x.keep[p] || done[g]:
		case !x.alone[g]:
			list = append(list, f)
		default:
			done[g] = true
			from := len(list)
			for _, p := range c.groups[g] {
				if x.keep[p] {
					list = append(list, c.parts[p].frames...)
				}
			}
			slices.Sort(list[from:])
		}
	}
	return list
}

// ordered reports whether the needs of a part stand before the part wherever the recording
// has that order. Within a group the recorded order is kept.
func (c *cut) ordered(x choice, order []int) bool {
	at := make(map[int]int, len(order))
	for i, f := range order {
		at[f] = i
	}
	for i, p := range c.parts {
		for _, n := range p.needs {
			if !x.keep[i] || n.inside {
				continue
			}
			met, recorded := false, false
			for _, other := range n.any {
				frames := c.parts[other].frames
				last := frames[len(frames)-1]
				recorded = recorded || last < p.frames[0]
				met = met || x.keep[other] && at[last] < at[p.frames[0]]
			}
			if recorded && !met {
				return false
			}
		}
	}
	return true
}

// overlap counts how often a session goes from one group to another, beyond the necessary.
func (c *cut) overlap(order []int) int {
	changes, groups, before := 0, map[int]bool{}, -1
	for _, f := range order {
		g := c.groupOf[c.partOf[f]]
		if g != before {
			changes++
		}
		groups[g], before = true, g
	}
	return changes - len(groups)
}

// cost orders candidates: by frames, room, overlap, other events, then bytes.
type cost struct {
	frames, room, overlap, extras, bytes int
}

// costOf returns the cost of a choice and its events.
func (c *cut) costOf(x choice, events []store.Event) cost {
	const most = 1 << 30 // for an unbounded room
	k := cost{overlap: c.overlap(c.order(x))}
	for _, r := range [...]replay.Room{x.capacity.C2S, x.capacity.S2C} {
		if r < 0 || r > most {
			r = most
		}
		k.room += int(r)
	}
	for _, e := range events {
		switch e.Kind {
		case store.Frame:
			k.frames++
			k.bytes += len(e.Payload)
		case store.Opened, store.Closed:
		default:
			k.extras++
		}
	}
	return k
}

// size is how many frames the parts have.
func (c *cut) size(parts []int) int {
	n := 0
	for _, p := range parts {
		n += len(c.parts[p].frames)
	}
	return n
}

// build writes the candidate's session, and returns from which frame each of its Seqs is.
func (c *cut) build(x choice) (events []store.Event, from map[uint64]int) {
	from = map[uint64]int{}
	seqs := map[uint64]uint64{} // old → new, of frames
	var times []time.Duration
	add := func(e store.Event) {
		e.Seq = uint64(len(events) + 1)
		times = append(times, e.At)
		events = append(events, e)
	}
	for _, e := range c.opened {
		add(e)
	}
	extras := c.extras
	if !x.extras {
		extras = nil
	}
	addExtras := func(before uint64) {
		for ; len(extras) > 0 && extras[0].Seq < before; extras = extras[1:] {
			e := extras[0]
			if e.Kind == store.Delivered { // names the last delivered frame that is left
				info, err := store.DecodePayload[store.DeliveredInfo](e)
				upto := uint64(0)
				for old, seq := range seqs {
					if old <= info.Upto {
						upto = max(upto, seq)
					}
				}
				if err != nil || upto == 0 {
					continue
				}
				info.Upto = upto
				e.Payload = store.EncodePayload(info)
			}
			add(e)
		}
	}
	for _, f := range c.order(x) {
		e := c.frames[f]
		addExtras(e.Seq)
		e.Payload = strip(e.Payload, f, x.edits)
		seq := uint64(len(events) + 1)
		seqs[e.Seq], from[seq] = seq, f
		add(e)
	}
	addExtras(math.MaxUint64)
	if c.closed.Kind != "" {
		info := store.ClosedInfo{Frames: uint64(len(from))}
		add(store.Event{Kind: store.Closed, At: c.closed.At, Payload: store.EncodePayload(info)})
	}
	slices.Sort(times)
	for i := range events {
		events[i].At = times[i]
	}
	return events, from
}

// edit makes one frame's payload smaller: a member that no schema wants is taken
// out, a list is emptied.
type edit struct {
	frame int
	in    string // "params", "result", "params/_meta" or "result/_meta"
	key   string
}

// required are the members that the schema of a revision wants, or that name, identify or
// carry a value; other members may go. A key means the same in every method, except the
// keys in optional.
var required = words(`
	protocolVersion capabilities clientInfo serverInfo supportedVersions name uri ref argument level
	requestId progressToken progress message data cursor nextCursor mode url requestedSchema elicitationId
	messages maxTokens model role content contents prompts resources resourceTemplates tools roots tasks
	completion action task taskId status ttl createdAt lastUpdatedAt notifications resultType ttlMs cacheScope
	requestState inputRequests inputResponses isError structuredContent`)

// optional are members that a method does not want although others do.
var optional = map[string][]string{mcp.NotificationProgress: {"message"}}

// emptied are the lists that may be empty.
var emptied = words("content contents prompts resources resourceTemplates tools roots tasks")

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// member is a member of a JSON object, unchanged.
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

// edits lists the members that may be taken out of a frame. Batches and noise have none.
func edits(frame int, e store.Event) (list []edit) {
	if !json.Valid(e.Payload) {
		return nil
	}
	top := object(e.Payload)
	method := ""
	for _, m := range top {
		if m.key == "method" {
			_ = json.Unmarshal(m.raw, &method)
		}
	}
	for _, body := range top {
		in := body.key
		if in != "params" && in != "result" {
			continue
		}
		for _, m := range object(body.raw) {
			switch {
			case m.key == mcp.MemberMeta:
				for _, meta := range object(m.raw) {
					if meta.key != mcp.MemberProgressToken && !strings.HasPrefix(meta.key, mcp.MetaPrefix) {
						list = append(list, edit{frame, in + "/_meta", meta.key})
					}
				}
			case !required[m.key], slices.Contains(optional[method], m.key),
				in == "result" && emptied[m.key] && len(m.raw) > 2 && m.raw[0] == '[':
				list = append(list, edit{frame, in, m.key})
			}
		}
	}
	return list
}

// strip applies the edits of a frame; without edits it returns the same payload.
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
			if n.key == mcp.MemberMeta {
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
