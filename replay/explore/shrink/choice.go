package shrink

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"maps"
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
	keep     []bool // by part; none without its needs
	alone    []bool // by group: its frames stand together
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

// parts lists those that are kept.
func (x choice) parts() []int {
	var list []int
	for p, keep := range x.keep {
		if keep {
			list = append(list, p)
		}
	}
	return list
}

// key tells choices apart, so that none is tried twice.
type key [2]uint64

func (x choice) key() key {
	h := fnv.New128a()
	b := make([]byte, 0, len(x.keep)+len(x.alone)+32)
	for _, list := range [][]bool{x.keep, x.alone, {x.extras}} {
		for _, v := range list {
			b = append(b, flag(v))
		}
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(x.capacity.C2S))
	b = binary.LittleEndian.AppendUint64(b, uint64(x.capacity.S2C))
	edits := slices.SortedFunc(maps.Keys(x.edits), func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.frame, b.frame), cmp.Compare(a.in, b.in), cmp.Compare(a.key, b.key))
	})
	for _, e := range edits {
		b = binary.LittleEndian.AppendUint32(b, uint32(e.frame))
		b = append(b, e.in+"/"+e.key+";"...)
	}
	_, _ = h.Write(b)
	sum := h.Sum(nil)
	return key{binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])}
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// order returns the kept frames in the candidate's order: as recorded, but the frames of
// a group that stands alone stand together, from its first.
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

// ordered reports whether every need of a part still stands before it, if it did in the
// recording. Within a group all is as recorded.
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
			if e, ok := deliveredOf(extras[0], seqs); ok {
				add(e)
			}
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

// deliveredOf corrects how far an event says that frames were delivered, and reports false
// if none of those frames is left. Other events stay as they are.
func deliveredOf(e store.Event, seqs map[uint64]uint64) (store.Event, bool) {
	if e.Kind != store.Delivered {
		return e, true
	}
	info, err := store.DecodePayload[store.DeliveredInfo](e)
	upto := uint64(0)
	for old, seq := range seqs {
		if old <= info.Upto {
			upto = max(upto, seq)
		}
	}
	info.Upto = upto
	e.Payload = store.EncodePayload(info)
	return e, err == nil && upto > 0
}

// edit makes one frame's payload smaller: a member that no schema wants is taken
// out, a list is emptied.
type edit struct {
	frame int
	in    string // "params", "result", "params/_meta" or "result/_meta"
	key   string
}

// required are the members that the schemas of any revision want, or that name, identify or
// carry a value; others may go. Keys mean the same in every method, but for those in
// optional.
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

// edits lists the members that may be taken out of a frame. Batches and noise stay as they
// are.
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
