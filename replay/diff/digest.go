package diff

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
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
func NewDigester(o Options) *Digester {
	seed := maphash.MakeSeed()
	r := o.Rules
	isPlain := (r.By == match.ByParams || r.By == match.Strict) && len(r.Ignore) == 0 && len(r.Normalize) == 0 && r.Match == nil
	return &Digester{
		comparer: match.NewComparer(r, nil), seed: seed, spelling: o.Bytes, ownKeys: !isPlain,
		hash: newHasher(seed, r.By == match.Strict), strict: newHasher(seed, true),
	}
}

// Digest returns the digests of a frame's messages; nil of other events. A frame without a
// message has a digest of kind Invalid.
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
		if bytes.Contains(m.Result, []byte(`"tools"`)) {
			g.tools = d.tools(m.Result)
		}
	}
	return g
}

// call hashes the compared parts of a request or a notification.
func (d *Digester) call(m transport.Message) uint64 {
	h := &d.hash
	own := ""
	switch m.Method {
	case mcp.MethodInitialize:
		h = &d.strict
	case mcp.NotificationProgress:
		own = mcp.MemberProgressToken
	case mcp.NotificationCancelled:
		own = mcp.MemberRequestID
	}
	return h.mix(maphash.String(d.seed, m.Method), h.params(m.Params, own))
}

// tools reads the tools of a result, if the result lists tools.
func (d *Digester) tools(result json.RawMessage) (list []tool) {
	var elements []json.RawMessage
	if json.Unmarshal(transport.Member(result, "tools"), &elements) != nil {
		return nil
	}
	for _, element := range elements {
		var name string
		if json.Unmarshal(transport.Member(element, "name"), &name) != nil {
			continue
		}
		content, _ := d.hash.value(element, 0)
		list = append(list, tool{name, content})
	}
	return list
}

// bytesOf hashes the bytes of a message without id and progress token, which differ between
// recordings.
func (d *Digester) bytesOf(m transport.Message) uint64 {
	places := [][]string{{"id"}}
	if m.ProgressToken() != nil {
		token := []string{"params", mcp.MemberMeta, mcp.MemberProgressToken}
		if m.Method == mcp.NotificationProgress {
			token = []string{"params", mcp.MemberProgressToken}
		}
		places = append(places, token)
		id, _, _ := transport.Locate(m.Raw, "id")
		params, _, _ := transport.Locate(m.Raw, "params")
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
