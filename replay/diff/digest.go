package diff

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Options say how sessions are compared.
type Options struct {
	Rules match.Rules
	Bytes bool // also how messages are spelled
}

// Digest is a message and what it is paired by.
type Digest struct {
	method       string
	kind         transport.MessageKind
	target       string          // the name of a tool or a prompt
	subscription json.RawMessage // of a notification: the id of its subscription
	key          uint64          // of a request: requests with equal keys may be paired
	content      uint64          // a hash of everything compared
	bytes        uint64          // a hash of the spelling without id and token; 0 without Options.Bytes
	raw          json.RawMessage
	tools        []tool // of a list
}

// tool is a tool of a server's list.
type tool struct {
	name    string
	content uint64
	raw     json.RawMessage
}

// keptTools is how many tools of a session are distinguished.
const keptTools = 10_000

// Digester makes digests. Several goroutines may use a Digester at once.
type Digester struct {
	comparer *match.Comparer
	seed     maphash.Seed
	spelling bool
	ownKeys  bool // the rules give requests another key than their content
}

// NewDigester returns a digester for comparisons with these options.
func NewDigester(options Options) *Digester {
	seed := maphash.MakeSeed()
	r := options.Rules
	isPlain := (r.By == match.ByParams || r.By == match.Strict) && len(r.Ignore) == 0 && len(r.Normalize) == 0 && r.Match == nil
	return &Digester{
		comparer: match.NewComparer(r, nil), seed: seed, spelling: options.Bytes, ownKeys: !isPlain,
	}
}

// Digest returns the digests of a frame's messages.
func (d *Digester) Digest(messages []transport.Message) []Digest {
	list := make([]Digest, len(messages))
	for i, m := range messages {
		list[i] = d.message(m)
	}
	return list
}

// noise returns the digest of a frame without a message, which has the kind Invalid; none of a blank one.
func (d *Digester) noise(payload []byte) []Digest {
	text := transport.TrimBlanks(payload)
	if len(text) == 0 {
		return nil
	}
	return []Digest{{content: maphash.Bytes(d.seed, text), bytes: maphash.Bytes(d.seed, payload), raw: bytes.Clone(text)}}
}

func (d *Digester) message(m transport.Message) Digest {
	g := Digest{
		method: m.Method, kind: m.Kind(), raw: bytes.Clone(m.Raw),
		content: maphash.Bytes(d.seed, d.comparer.AppendContent(nil, m)),
	}
	if d.spelling {
		g.bytes = d.bytesOf(m)
	}
	switch g.kind {
	case transport.Invalid:
		g.content = maphash.Bytes(d.seed, m.Raw)
	case transport.Request:
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
		if bytes.Contains(m.Params, []byte(mcp.MetaSubscriptionID)) {
			g.subscription = transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID)
		}
	case transport.Response:
		var tools []json.RawMessage
		if bytes.Contains(m.Result, []byte(`"tools"`)) && json.Unmarshal(transport.Member(m.Result, "tools"), &tools) != nil {
			tools = nil
		}
		for _, raw := range tools {
			var name string
			if json.Unmarshal(transport.Member(raw, "name"), &name) == nil {
				content := d.comparer.AppendContent(nil, transport.Message{Result: raw})
				g.tools = append(g.tools, tool{name, maphash.Bytes(d.seed, content), raw})
			}
		}
	}
	return g
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
