package diff

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Options say how sessions are compared.
type Options struct {
	Rules match.Rules
	Bytes bool // also how messages are spelled
}

// Digest is a message without its text.
type Digest struct {
	kind         transport.MessageKind
	method       string
	target       string // the name of a tool or a prompt
	id           uint64 // a hash; of a cancellation, of the request's id
	token        uint64 // of a request and of progress
	subscription uint64 // of a notification: the id of its subscription
	key          uint64 // of a request: requests with equal keys may be paired
	content      uint64 // a hash of everything compared
	bytes        uint64 // a hash of the spelling without id and token; 0 without Options.Bytes
	size         int
	tools        []tool // of a list
}

// tool is a tool of a server's list.
type tool struct {
	name    string
	content uint64
}

// keptTools is how many tools of a session are distinguished.
const keptTools = 10_000

// Digester makes digests. Several goroutines may use a Digester at once.
type Digester struct {
	comparer *match.Comparer
	seed     maphash.Seed
	spelling bool
	ownKeys  bool // the rules give requests another key than their content
	hash     hasher
	strict   hasher // for initialize
}

// NewDigester returns a digester for comparisons with these options.
func NewDigester(options Options) *Digester {
	seed := maphash.MakeSeed()
	r := options.Rules
	isPlain := (r.By == match.ByParams || r.By == match.Strict) && len(r.Ignore) == 0 && len(r.Normalize) == 0 && r.Match == nil
	return &Digester{
		comparer: match.NewComparer(r, nil), seed: seed, spelling: options.Bytes, ownKeys: !isPlain,
		hash: newHasher(seed, r.By == match.Strict), strict: newHasher(seed, true),
	}
}

// Digest returns the digests of a frame's messages; nil of other events. A frame without a
// message has a digest of kind Invalid.
func (d *Digester) Digest(event store.Event) []Digest {
	if event.Kind != store.Frame {
		return nil
	}
	messages, err := event.AsFrame().Messages()
	if err != nil {
		text := bytes.TrimSpace(event.Payload)
		if len(text) == 0 {
			return nil
		}
		return []Digest{{content: maphash.Bytes(d.seed, text), bytes: maphash.Bytes(d.seed, event.Payload), size: len(text)}}
	}
	list := make([]Digest, len(messages))
	for i, m := range messages {
		list[i] = d.message(m)
	}
	return list
}

func (d *Digester) message(m transport.Message) Digest {
	g := Digest{kind: m.Kind(), method: m.Method, size: len(m.Raw), id: d.hash.id(m.ID), token: d.hash.id(m.ProgressToken())}
	if d.spelling {
		g.bytes = d.bytesOf(m)
	}
	switch g.kind {
	case transport.Invalid:
		g.content = maphash.Bytes(d.seed, m.Raw)
	case transport.Request:
		g.content = d.call(m)
		g.key = g.content
		if m.Method == mcp.MethodCallTool || m.Method == mcp.MethodGetPrompt {
			g.target, _ = timeline.Target(m)
		}
		if d.ownKeys || m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover || m.Method == mcp.MethodPing {
			if key, err := d.comparer.Key(m); err == nil {
				g.key = maphash.String(d.seed, string(key))
			}
		}
	case transport.Notification:
		g.content = d.call(m)
		if m.Method == mcp.NotificationCancelled {
			g.id = d.hash.id(transport.Member(m.Params, mcp.MemberRequestID))
		}
		if bytes.Contains(m.Params, []byte(mcp.MetaSubscriptionID)) {
			g.subscription = d.hash.id(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID))
		}
	case transport.Response:
		g.content = d.hash.mix(d.hash.result(m.Result), d.hash.result(m.Error))
		var tools []json.RawMessage
		if bytes.Contains(m.Result, []byte(`"tools"`)) && json.Unmarshal(transport.Member(m.Result, "tools"), &tools) != nil {
			tools = nil
		}
		for _, raw := range tools {
			var name string
			if json.Unmarshal(transport.Member(raw, "name"), &name) == nil {
				content, _ := d.hash.value(raw, 0)
				g.tools = append(g.tools, tool{name, content})
			}
		}
	}
	return g
}

// call hashes the compared parts of a request or a notification.
func (d *Digester) call(message transport.Message) uint64 {
	h := &d.hash
	own := ""
	switch message.Method {
	case mcp.MethodInitialize:
		h = &d.strict
	case mcp.NotificationProgress:
		own = mcp.MemberProgressToken
	case mcp.NotificationCancelled:
		own = mcp.MemberRequestID
	}
	return h.mix(maphash.String(d.seed, message.Method), h.params(message.Params, own))
}

// bytesOf hashes the bytes of a message without id and progress token, which differ between
// recordings.
func (d *Digester) bytesOf(message transport.Message) uint64 {
	places := [][]string{{"id"}}
	if message.ProgressToken() != nil {
		token := []string{"params", mcp.MemberMeta, mcp.MemberProgressToken}
		if message.Method == mcp.NotificationProgress {
			token = []string{"params", mcp.MemberProgressToken}
		}
		places = append(places, token)
		id, _, _ := transport.Locate(message.Raw, "id")
		params, _, _ := transport.Locate(message.Raw, "params")
		if params < id { // in the order of the bytes
			slices.Reverse(places)
		}
	}
	var h maphash.Hash
	h.SetSeed(d.seed)
	from := 0
	for _, place := range places {
		if start, end, ok := transport.Locate(message.Raw, place...); ok && start >= from {
			h.Write(message.Raw[from:start])
			h.WriteByte(0)
			from = end
		}
	}
	h.Write(message.Raw[from:])
	return h.Sum64()
}

// hasher hashes JSON values by meaning: the order of an object's members and the escapes in a
// text make no difference. A value is read once, and no tree is built.
//
// Values with one hash are the same. The same value may have two hashes in rare forms (a member
// twice, a number of many digits with a fraction); then the texts are compared.
type hasher struct {
	seed   maphash.Seed
	one    uint64 // secret, so that a peer cannot make values collide
	other  uint64
	strict bool // numbers are compared as they are written
}

func newHasher(seed maphash.Seed, strict bool) hasher {
	return hasher{seed, maphash.String(seed, "one"), maphash.String(seed, "other"), strict}
}

func (h *hasher) mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^h.one, b^h.other)
	return high ^ low ^ bits.RotateLeft64(a, 23)
}

// id hashes an id or a progress token by [mcp.Key]; 0 if missing.
func (h *hasher) id(raw json.RawMessage) uint64 {
	switch {
	case len(raw) == 0:
		return 0
	case !mcp.IsPlain(raw):
		return maphash.String(h.seed, string(mcp.KeyOf(raw)))
	}
	return maphash.Bytes(h.seed, raw)
}

// value hashes the value beginning at i of valid JSON, and returns the value's end.
func (h *hasher) value(data []byte, i int) (uint64, int) {
	switch data[i] {
	case '{':
		sum, end := h.members(data, i, func(_ []byte, key uint64, from int) (uint64, int) {
			value, end := h.value(data, from)
			return h.mix(key, value), end
		})
		return h.mix('{', sum), end
	case '[':
		sum := uint64('[')
		for i = skipBlank(data, i+1); data[i] != ']'; {
			value, end := h.value(data, i)
			sum = h.mix(sum, value)
			i = skipComma(data, end)
		}
		return sum, i + 1
	case '"':
		inner, end := cutText(data, i)
		return h.mix('"', h.text(inner)), end
	}
	end := i
	for end < len(data) && data[end] != ',' && data[end] != '}' && data[end] != ']' && skipBlank(data, end) == end {
		end++
	}
	return h.mix('0', h.number(data[i:end])), end
}

// members calls each with the members of the object beginning at i: the name as written, the
// name's hash, and the value's beginning. each returns a hash of the member, 0 to leave the
// member out, and the value's end. members returns the sum of the hashes, which no order
// changes, and the object's end.
func (h *hasher) members(b []byte, i int, each func(name []byte, key uint64, from int) (uint64, int)) (sum uint64, end int) {
	for i = skipBlank(b, i+1); b[i] != '}'; {
		name, next := cutText(b, i)
		from := skipBlank(b, skipBlank(b, next)+1) // after the colon
		hash, end := each(name, h.text(name), from)
		sum += hash
		i = skipComma(b, end)
	}
	return sum, i + 1
}

// text hashes a string by characters. Escapes of surrogate halves are hashed as written: a
// decoder would make the same character of every half.
func (h *hasher) text(inner []byte) uint64 {
	if bytes.IndexByte(inner, '\\') < 0 {
		return maphash.Bytes(h.seed, inner)
	}
	var s string
	quoted := slices.Concat([]byte{'"'}, inner, []byte{'"'})
	if bytes.Contains(inner, []byte(`\ud`)) || bytes.Contains(inner, []byte(`\uD`)) || json.Unmarshal(quoted, &s) != nil {
		return maphash.Bytes(h.seed, quoted)
	}
	return maphash.String(h.seed, s)
}

// number hashes a number or a literal: 1.0 as 1.
func (h *hasher) number(word []byte) uint64 {
	if h.strict || word[0] > '9' || mcp.IsPlain(word) {
		return maphash.Bytes(h.seed, word)
	}
	return maphash.String(h.seed, mcp.Decimal(string(word)))
}

// params hashes the params of a message, without the member own, which differs between
// recordings; "" names no member.
func (h *hasher) params(data []byte, own string) uint64 {
	i := skipBlank(data, 0)
	if i == len(data) || data[i] != '{' {
		if len(data) == 0 || string(bytes.TrimSpace(data)) == "null" {
			return h.mix('{', 0)
		}
		value, _ := h.value(data, i)
		return value
	}
	isOfSender := func(name string) bool { // and says nothing about the request
		switch name {
		case mcp.MemberProgressToken, mcp.MetaSubscriptionID:
			return true
		}
		return !h.strict && (name == mcp.MetaClientInfo || name == mcp.MetaClientCapabilities)
	}
	sum, _ := h.members(data, i, func(name []byte, key uint64, from int) (uint64, int) {
		if string(name) == mcp.MemberMeta && data[from] == '{' {
			sum, end := h.without(data, from, isOfSender)
			if sum == 0 {
				return 0, end
			}
			return h.mix(key, h.mix('{', sum)), end
		}
		value, end := h.value(data, from)
		if own != "" && string(name) == own {
			return 0, end
		}
		return h.mix(key, value), end
	})
	return h.mix('{', sum)
}

// result hashes a result or an error. It leaves out the id of a subscription.
func (h *hasher) result(data []byte) uint64 {
	if len(data) == 0 {
		return 0
	}
	if data[0] != '{' || !bytes.Contains(data, []byte(mcp.MetaSubscriptionID)) {
		value, _ := h.value(data, 0)
		return value
	}
	meta := uint64(0)
	if start, _, ok := transport.Locate(data, mcp.MemberMeta); ok && data[start] == '{' {
		meta, _ = h.without(data, start, func(name string) bool { return name == mcp.MetaSubscriptionID })
	}
	rest, _ := h.without(data, 0, func(name string) bool { return name == mcp.MemberMeta })
	return h.mix('{', h.mix(rest, meta))
}

// without adds up the hashes of the members of the object beginning at i, except the left out
// members, and returns the object's end.
func (h *hasher) without(data []byte, i int, leftOut func(name string) bool) (sum uint64, end int) {
	return h.members(data, i, func(name []byte, key uint64, from int) (uint64, int) {
		value, end := h.value(data, from)
		if leftOut(string(name)) {
			return 0, end
		}
		return h.mix(key, value), end
	})
}

// cutText returns the text between the quotes of the string beginning at i, and the string's
// end.
func cutText(data []byte, i int) (inner []byte, end int) {
	for end = i + 1; data[end] != '"'; end++ {
		if data[end] == '\\' {
			end++
		}
	}
	return data[i+1 : end], end + 1
}

func skipBlank(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// skipComma skips the blanks after a member or an element, and a comma.
func skipComma(data []byte, i int) int {
	i = skipBlank(data, i)
	if data[i] == ',' {
		i = skipBlank(data, i+1)
	}
	return i
}

// sketch is a bottom-k sketch (MinHash) of a message: the least hashes of scalars with their
// paths, in rising order. Equal scalars have equal hashes in every message, and two sketches
// estimate how much two messages differ.
type sketch []uint64

// sketchSize is the k of a sketch.
const sketchSize = 48

// scalars calls each with the hash of each scalar, and its path, of the value beginning at i,
// save _meta. It returns the value's end.
func (h *hasher) scalars(data []byte, i int, path uint64, each func(uint64)) int {
	switch data[i] {
	case '{':
		_, end := h.members(data, i, func(name []byte, key uint64, from int) (uint64, int) {
			if string(name) == mcp.MemberMeta {
				return h.value(data, from)
			}
			return 0, h.scalars(data, from, h.mix(path, key), each)
		})
		return end
	case '[':
		n := uint64(0)
		for i = skipBlank(data, i+1); data[i] != ']'; n++ {
			i = skipComma(data, h.scalars(data, i, h.mix(path, n), each))
		}
		return i + 1
	}
	value, end := h.value(data, i)
	each(h.mix(path, value))
	return end
}

// distance counts the hashes in only one of two sketches.
func (s sketch) distance(sketch sketch) int {
	n := 0
	i := 0
	j := 0
	for i < len(s) && j < len(sketch) {
		switch {
		case s[i] == sketch[j]:
			i++
			j++
		case s[i] < sketch[j]:
			i++
			n++
		default:
			j++
			n++
		}
	}
	return n + len(s) - i + len(sketch) - j
}
