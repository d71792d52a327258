package diff

import (
	"bytes"
	"hash/maphash"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Digest is what is kept of a message.
type Digest struct {
	kind    transport.MessageKind
	method  string
	target  string // of a tool or a prompt its name
	id      uint64 // hash; of a cancellation the request's
	token   uint64 // of a request and of progress
	stands  uint64 // the id of the subscription that it belongs to
	key     uint64 // of a request
	content uint64
	bytes   uint64 // of all but id and token
	size    int
	tools   []tool // of a list
}

// Digester makes digests. It may be used by several goroutines.
type Digester struct {
	comparer *replay.Comparer
	seed     maphash.Seed
	bytes    bool
	keyed    bool // by other rules than those that contents are hashed by
	hash     hasher
	strictly hasher
}

// Options say how sessions are compared.
type Options struct {
	Rules replay.Rules
	Bytes bool // also how messages are spelled
}

// NewDigester returns a digester for sessions that are compared so.
func NewDigester(o Options) *Digester {
	seed, r := maphash.MakeSeed(), o.Rules
	return &Digester{
		comparer: replay.NewComparer(r, nil), seed: seed, bytes: o.Bytes,
		keyed: r.By != replay.ByParams && r.By != replay.Strict || len(r.Ignore) > 0 || len(r.Normalize) > 0 || r.Match != nil,
		hash:  newHasher(seed, r.By == replay.Strict), strictly: newHasher(seed, true),
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
		d.message(&list[i], m)
	}
	return list
}

// message fills in the digest of m.
func (d *Digester) message(g *Digest, m transport.Message) {
	g.kind, g.method, g.size = m.Kind(), m.Method, len(m.Raw)
	g.id, g.token = d.hash.id(m.ID), d.hash.id(m.ProgressToken())
	if d.bytes {
		g.bytes = d.spelling(m)
	}
	if g.kind == transport.Invalid {
		g.content = maphash.Bytes(d.seed, m.Raw)
		return
	}
	g.content = d.content(m)
	switch g.kind {
	case transport.Request:
		g.target, g.key = named(m), d.key(m, g.content)
	case transport.Notification:
		if m.Method == methodCancelled {
			g.id = d.hash.id(transport.Member(m.Params, "requestId"))
		}
		if bytes.Contains(m.Params, []byte(subscriptionID)) {
			g.stands = d.hash.id(transport.Member(m.Params, "_meta", subscriptionID))
		}
	case transport.Response:
		if bytes.Contains(m.Result, []byte(`"tools"`)) {
			g.tools = d.toolsOf(m.Result)
		}
	}
}

// content hashes all that is compared of a message.
func (d *Digester) content(m transport.Message) uint64 {
	h := &d.hash
	if m.Method == "" {
		return h.mix(h.result(m.Result), h.result(m.Error))
	}
	if m.Method == methodInitialize {
		h = &d.strictly
	}
	own := ""
	switch m.Method {
	case methodProgress:
		own = "progressToken"
	case methodCancelled:
		own = "requestId"
	}
	return h.mix(maphash.String(d.seed, m.Method), h.params(m, func(name []byte) bool { return string(name) == own }))
}

// key hashes what a request has in common with those that it may stand for.
func (d *Digester) key(m transport.Message, content uint64) uint64 {
	if !d.keyed && m.Method != methodInitialize && m.Method != methodDiscover && m.Method != methodPing {
		return content
	}
	key, err := d.comparer.Key(m)
	if err != nil {
		return content
	}
	return maphash.String(d.seed, string(key))
}

// spelling hashes a message's bytes without its id and its progress token, of which each
// recording has its own.
func (d *Digester) spelling(m transport.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(d.seed)
	from := 0
	for _, place := range ownPlaces(m) {
		if start, end, ok := transport.Locate(m.Raw, place...); ok && start >= from {
			h.Write(m.Raw[from:start])
			h.WriteByte(0)
			from = end
		}
	}
	h.Write(m.Raw[from:])
	return h.Sum64()
}

// ownPlaces are those of the id and the progress token, in the order of the bytes.
func ownPlaces(m transport.Message) [][]string {
	places := [][]string{{"id"}}
	switch {
	case m.ProgressToken() == nil:
	case m.Method == methodProgress:
		places = append(places, []string{"params", "progressToken"})
	default:
		places = append(places, []string{"params", "_meta", "progressToken"})
	}
	if len(places) == 2 {
		id, _, _ := transport.Locate(m.Raw, "id")
		params, _, _ := transport.Locate(m.Raw, "params")
		if params < id {
			places[0], places[1] = places[1], places[0]
		}
	}
	return places
}

// named is the tool or the prompt that a request is about.
func named(m transport.Message) string {
	if m.Method != methodCall && m.Method != methodPrompt {
		return ""
	}
	target, _ := replay.Target(m)
	return target
}

const (
	methodCall       = "tools/call"
	methodPrompt     = "prompts/get"
	methodInitialize = "initialize"
	methodDiscover   = "server/discover"
	methodTools      = "tools/list"
	methodProgress   = "notifications/progress"
	methodCancelled  = "notifications/cancelled"
	methodPing       = "ping"
	subscriptionID   = "io.modelcontextprotocol/subscriptionId"
)
