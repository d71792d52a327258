package diff

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Digest is what is kept of a message.
type Digest struct {
	kind    transport.MessageKind
	method  string
	target  string // of a tool or a prompt its name
	id      uint64 // hash; of a cancellation the request's
	token   uint64 // of a request and of progress
	stands  uint64 // the id of the subscription that it belongs to
	key     uint64 // of a request: what it has in common with those that it may stand for
	content uint64
	bytes   uint64 // of all but id and token
	size    int
	tools   []tool // of a list
}

// Digester makes digests. It may be used by several goroutines.
type Digester struct {
	comparer *match.Comparer
	seed     maphash.Seed
	bytes    bool
	keyed    bool // by other rules than those that contents are hashed by
	hash     hasher
	strictly hasher
}

// Options say how sessions are compared.
type Options struct {
	Rules match.Rules
	Bytes bool // also how messages are spelled
}

// NewDigester returns a digester for sessions that are compared so.
func NewDigester(o Options) *Digester {
	seed, r := maphash.MakeSeed(), o.Rules
	return &Digester{
		comparer: match.NewComparer(r, nil), seed: seed, bytes: o.Bytes,
		keyed: r.By != match.ByParams && r.By != match.Strict || len(r.Ignore) > 0 || len(r.Normalize) > 0 || r.Match != nil,
		hash:  newHasher(seed, r.By == match.Strict), strictly: newHasher(seed, true),
	}
}

// Digest returns the digests of a frame's messages; of other events there are none. Of a
// frame that is no message there is one of kind Invalid.
func (d *Digester) Digest(e store.Event) []Digest {
	if e.Kind != store.Frame {
		return nil
	}
	messages, err := e.AsFrame().Messages()
	if err != nil {
		text := bytes.TrimSpace(e.Payload)
		if len(text) == 0 {
			return nil
		}
		return []Digest{{content: maphash.Bytes(d.seed, text), bytes: maphash.Bytes(d.seed, e.Payload), size: len(text)}}
	}
	list := make([]Digest, len(messages))
	for i, m := range messages {
		list[i] = d.message(m)
	}
	return list
}

func (d *Digester) message(m transport.Message) Digest {
	g := Digest{kind: m.Kind(), method: m.Method, size: len(m.Raw), id: d.hash.id(m.ID), token: d.hash.id(m.ProgressToken())}
	if d.bytes {
		g.bytes = d.spelling(m)
	}
	if g.kind == transport.Invalid {
		g.content = maphash.Bytes(d.seed, m.Raw)
		return g
	}
	g.content = d.content(m)
	switch g.kind {
	case transport.Request:
		if m.Method == mcp.MethodCallTool || m.Method == mcp.MethodGetPrompt {
			g.target, _ = timeline.Target(m)
		}
		g.key = g.content
		if d.keyed || m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover || m.Method == mcp.MethodPing {
			if key, err := d.comparer.Key(m); err == nil {
				g.key = maphash.String(d.seed, string(key))
			}
		}
	case transport.Notification:
		if m.Method == mcp.NotificationCancelled {
			g.id = d.hash.id(transport.Member(m.Params, mcp.MemberRequestID))
		}
		if bytes.Contains(m.Params, []byte(mcp.MetaSubscriptionID)) {
			g.stands = d.hash.id(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID))
		}
	case transport.Response:
		if bytes.Contains(m.Result, []byte(`"tools"`)) {
			g.tools = d.toolsOf(m.Result)
		}
	}
	return g
}

// content hashes all that is compared of a message.
func (d *Digester) content(m transport.Message) uint64 {
	h := &d.hash
	if m.Method == "" {
		return h.mix(h.result(m.Result), h.result(m.Error))
	}
	own := ""
	switch m.Method {
	case mcp.MethodInitialize:
		h = &d.strictly
	case mcp.NotificationProgress:
		own = mcp.MemberProgressToken
	case mcp.NotificationCancelled:
		own = mcp.MemberRequestID
	}
	return h.mix(maphash.String(d.seed, m.Method), h.params(m.Params, own))
}

// spelling hashes a message's bytes without its id and its progress token, of which each
// recording has its own.
func (d *Digester) spelling(m transport.Message) uint64 {
	places := [][]string{{"id"}}
	if m.ProgressToken() != nil {
		token := []string{"params", mcp.MemberMeta, mcp.MemberProgressToken}
		if m.Method == mcp.NotificationProgress {
			token = []string{"params", mcp.MemberProgressToken}
		}
		id, _, _ := transport.Locate(m.Raw, "id")
		params, _, _ := transport.Locate(m.Raw, "params")
		places = append(places, token)
		if params < id { // in the order of the bytes
			slices.Reverse(places)
		}
	}
	var h maphash.Hash
	h.SetSeed(d.seed)
	from := 0
	for _, place := range places {
		if start, end, ok := transport.Locate(m.Raw, place...); ok && start >= from {
			h.Write(m.Raw[from:start])
			h.WriteByte(0)
			from = end
		}
	}
	h.Write(m.Raw[from:])
	return h.Sum64()
}

// tool is one that a server listed.
type tool struct {
	name    string
	content uint64
}

// keptTools is how many tools of a session are told apart.
const keptTools = 10_000

// toolsOf reads the tools of a result, if it has a list of them.
func (d *Digester) toolsOf(result json.RawMessage) (list []tool) {
	var elements []json.RawMessage
	if json.Unmarshal(transport.Member(result, "tools"), &elements) != nil {
		return nil
	}
	for _, one := range elements {
		var name string
		if json.Unmarshal(transport.Member(one, "name"), &name) != nil {
			continue
		}
		content, _ := d.hash.value(one, 0)
		list = append(list, tool{name, content})
	}
	return list
}

// hasher hashes JSON values by what they say: in whichever order an object has its
// members, and however a text is escaped. It reads a value once and builds nothing.
// Values with one hash are the same; the same may have two where that is rare (a member
// twice, a number of many digits with a fraction): then their texts are compared.
type hasher struct {
	seed   maphash.Seed
	one    uint64 // secret, as a peer must not know what collides
	other  uint64
	strict bool // numbers are as they are written
}

func newHasher(seed maphash.Seed, strict bool) hasher {
	return hasher{seed, maphash.String(seed, "one"), maphash.String(seed, "other"), strict}
}

func (h *hasher) mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^h.one, b^h.other)
	return high ^ low ^ bits.RotateLeft64(a, 23)
}

func (h *hasher) bytes(b []byte) uint64 { return maphash.Bytes(h.seed, b) }

// id hashes an id or a progress token by its [mcp.Key]; 0 is none.
func (h *hasher) id(raw json.RawMessage) uint64 {
	switch {
	case len(raw) == 0:
		return 0
	case !mcp.IsPlain(raw):
		return maphash.String(h.seed, string(mcp.KeyOf(raw)))
	}
	return h.bytes(raw)
}

// value hashes the value that begins at i of valid JSON, and returns where it ends.
func (h *hasher) value(b []byte, i int) (uint64, int) {
	switch b[i] {
	case '{':
		sum, end := h.members(b, i, func(_ []byte, key uint64, from int) (uint64, int, bool) {
			value, end := h.value(b, from)
			return h.mix(key, value), end, true
		})
		return h.mix('{', sum), end
	case '[':
		sum := uint64('[')
		for i = skipBlank(b, i+1); b[i] != ']'; {
			value, end := h.value(b, i)
			sum = h.mix(sum, value)
			if i = skipBlank(b, end); b[i] == ',' {
				i = skipBlank(b, i+1)
			}
		}
		return sum, i + 1
	case '"':
		inner, end := cutText(b, i)
		return h.mix('"', h.text(inner)), end
	}
	end := i
	for end < len(b) && !isBreak(b[end]) {
		end++
	}
	return h.mix('0', h.number(b[i:end])), end
}

// members adds up what each makes of the members of the object that begins at i: the
// name as it is written, its hash, and where the value begins.
func (h *hasher) members(b []byte, i int, each func(name []byte, key uint64, from int) (uint64, int, bool)) (sum uint64, end int) {
	for i = skipBlank(b, i+1); b[i] != '}'; {
		name, next := cutText(b, i)
		from := skipBlank(b, skipBlank(b, next)+1) // over the colon
		part, end, counts := each(name, h.text(name), from)
		if counts {
			sum += part
		}
		if i = skipBlank(b, end); b[i] == ',' {
			i = skipBlank(b, i+1)
		}
	}
	return sum, i + 1
}

// text hashes what a string says. Halves of surrogate pairs are not read: no two of them
// may become one.
func (h *hasher) text(inner []byte) uint64 {
	if bytes.IndexByte(inner, '\\') < 0 {
		return h.bytes(inner)
	}
	var s string
	quoted := append(append([]byte{'"'}, inner...), '"')
	if bytes.Contains(inner, []byte(`\ud`)) || bytes.Contains(inner, []byte(`\uD`)) || json.Unmarshal(quoted, &s) != nil {
		return h.bytes(quoted)
	}
	return maphash.String(h.seed, s)
}

// number hashes a number or a literal: 1.0 as 1.
func (h *hasher) number(word []byte) uint64 {
	const exact = 15 // digits, that a float64 keeps
	if h.strict || len(word) > exact || !bytes.ContainsAny(word, ".eE") || word[0] > '9' {
		return h.bytes(word)
	}
	f, err := strconv.ParseFloat(string(word), 64)
	if err != nil || f <= -1e15 || f >= 1e15 {
		return h.bytes(word)
	}
	if whole := int64(f); float64(whole) == f {
		return h.bytes(strconv.AppendInt(nil, whole, 10))
	}
	return h.bytes(strconv.AppendFloat(nil, f, 'g', -1, 64))
}

// params hashes the params of a message without the member that each recording has its own.
func (h *hasher) params(b []byte, own string) uint64 {
	i := skipBlank(b, 0)
	if i == len(b) || b[i] != '{' {
		if len(b) == 0 || string(bytes.TrimSpace(b)) == "null" {
			return h.mix('{', 0)
		}
		value, _ := h.value(b, i)
		return value
	}
	sum, _ := h.members(b, i, func(name []byte, key uint64, from int) (uint64, int, bool) {
		if string(name) == mcp.MemberMeta && b[from] == '{' {
			kept, end := h.meta(b, from)
			return h.mix(key, h.mix('{', kept)), end, kept != 0
		}
		value, end := h.value(b, from)
		return h.mix(key, value), end, own == "" || string(name) != own
	})
	return h.mix('{', sum)
}

// meta adds up the members of _meta that say what is asked, and not who asks.
func (h *hasher) meta(b []byte, i int) (uint64, int) {
	return h.members(b, i, func(name []byte, key uint64, from int) (uint64, int, bool) {
		value, end := h.value(b, from)
		switch string(name) {
		case mcp.MemberProgressToken, mcp.MetaSubscriptionID:
			return 0, end, false
		case mcp.MetaClientInfo, mcp.MetaClientCapabilities:
			return h.mix(key, value), end, h.strict
		}
		return h.mix(key, value), end, true
	})
}

// result hashes a result or an error; of a subscription's without its id.
func (h *hasher) result(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	if b[0] != '{' || !bytes.Contains(b, []byte(mcp.MetaSubscriptionID)) {
		value, _ := h.value(b, 0)
		return value
	}
	without := func(start int, left string) uint64 {
		sum, _ := h.members(b, start, func(name []byte, key uint64, from int) (uint64, int, bool) {
			value, end := h.value(b, from)
			return h.mix(key, value), end, string(name) != left
		})
		return sum
	}
	rest := uint64(0)
	if start, _, ok := transport.Locate(b, mcp.MemberMeta); ok && b[start] == '{' {
		rest = without(start, mcp.MetaSubscriptionID)
	}
	return h.mix('{', h.mix(without(0, mcp.MemberMeta), rest))
}

// cutText returns the inner of the string that begins at i, and where it ends.
func cutText(b []byte, i int) (inner []byte, end int) {
	for end = i + 1; b[end] != '"'; end++ {
		if b[end] == '\\' {
			end++
		}
	}
	return b[i+1 : end], end + 1
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

func isBreak(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\n' || c == '\r'
}

// sketchSize is how many places of a message a sketch has: those with the least hashes,
// which are the same places in every message.
const sketchSize = 48

// sketch is what a message says at some of its places, as rising hashes.
type sketch []uint64

// sketchOf makes the sketch of a message.
func (h *hasher) sketchOf(m transport.Message) sketch {
	var s sketch
	for part, raw := range [...][]byte{m.Params, m.Result, m.Error} {
		if len(raw) > 0 {
			h.leaves(raw, 0, uint64(part), func(leaf uint64) { s = append(s, leaf) })
		}
	}
	slices.Sort(s)
	return slices.Clip(s[:min(len(s), sketchSize)])
}

// leaves calls each with the hash of each scalar of a value, and where it stands.
func (h *hasher) leaves(b []byte, i int, path uint64, each func(uint64)) int {
	switch b[i] {
	case '{':
		_, end := h.members(b, i, func(name []byte, key uint64, from int) (uint64, int, bool) {
			if string(name) == mcp.MemberMeta {
				_, end := h.value(b, from)
				return 0, end, false
			}
			return 0, h.leaves(b, from, h.mix(path, key), each), false
		})
		return end
	case '[':
		n := uint64(0)
		for i = skipBlank(b, i+1); b[i] != ']'; n++ {
			i = skipBlank(b, h.leaves(b, i, h.mix(path, n), each))
			if b[i] == ',' {
				i = skipBlank(b, i+1)
			}
		}
		return i + 1
	}
	value, end := h.value(b, i)
	each(h.mix(path, value))
	return end
}

// distance counts what only one of two sketches has.
func (s sketch) distance(o sketch) int {
	n, i, j := 0, 0, 0
	for i < len(s) && j < len(o) {
		switch {
		case s[i] == o[j]:
			i, j = i+1, j+1
		case s[i] < o[j]:
			i, n = i+1, n+1
		default:
			j, n = j+1, n+1
		}
	}
	return n + len(s) - i + len(o) - j
}
