package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// mostFaults is how many places of one message are told; the others are counted.
const mostFaults = 5

// fits is rule S1 of a message; the method is its request's if it is a response.
func (f *Fold) fits(e store.Event, s *scope, m *transport.Message, method string) {
	if f.gate.Schema == nil {
		return
	}
	revision := s.rules.Revision()
	if revision == "" {
		revision = f.revisionOf(f.courses.begin(e.Stream))
	}
	faults, err := f.gate.Schema.Check(revision, m, method)
	if err != nil && f.fault == nil {
		f.fault = err
	}
	for i, fault := range faults {
		if i == mostFaults {
			f.finds(misfit, e.Dir, revision, []uint64{e.Seq}, "%s of the %s does not fit in %s", named(m, method), e.Dir.Sender(), phrase.Plural(len(faults)-i, "more place"))
			return
		}
		d, text, path := misfit, phrase.Shorten(fault.Text, 300), fault.Path
		if path == "" {
			path = "the message"
		}
		if fault.Reason != "" {
			d, text = misprint, text+"; "+fault.Reason
		}
		f.finds(d, e.Dir, revision, []uint64{e.Seq}, "%s of the %s: %s: %s", named(m, method), e.Dir.Sender(), phrase.Shorten(path, 200), text)
	}
}

func named(m *transport.Message, method string) string {
	switch {
	case m.Kind() != transport.Response:
		return clip(m.Method)
	case method == "":
		return "a response"
	}
	return "the response to " + clip(method)
}

// introduces applies the rules P13 and P14: each message must name its JSON-RPC version,
// and from 2026-07-28 on each request its revision and its client. They need no schema, and
// every peer looks at them.
func (f *Fold) introduces(e store.Event, s *scope, m *transport.Message) {
	revision := s.rules.Revision()
	if !saysJSONRPC(m.Raw) {
		said := `without "jsonrpc":"2.0"`
		if version := transport.Member(m.Raw, "jsonrpc"); version != nil {
			said = fmt.Sprintf(`with "jsonrpc":%s, not "2.0"`, clip(string(version)))
		}
		f.finds(notJSONRPC, e.Dir, revision, []uint64{e.Seq}, "the %s sent %s %s", e.Dir.Sender(), named(m, ""), said)
	}
	if e.Dir != transport.ClientToServer || m.Kind() != transport.Request || m.Method == "initialize" {
		return
	}
	if revision = max(revision, f.revisionOf(f.courses.begin(e.Stream)), versionOf(m)); revision < order.Revision2026_07_28 {
		return
	}
	var missing []string
	for _, name := range []string{metaVersion, metaCapabilities} {
		if transport.Member(m.Params, "_meta", name) == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		f.finds(unnamed, e.Dir, revision, []uint64{e.Seq}, "the client sent %s (id %s) without %s in its _meta", clip(m.Method), clip(string(m.ID)), strings.Join(missing, " and "))
	}
	if !slices.Contains(missing, metaVersion) && transport.Member(m.Params, "_meta", metaClient) == nil {
		f.finds(anonymous, e.Dir, revision, []uint64{e.Seq}, "the client sent %s (id %s) without %s in its _meta", clip(m.Method), clip(string(m.ID)), metaClient)
	}
}

// saysJSONRPC reports whether a message has the member that all have. Most have it first
// or last, where it is found without reading the others.
func saysJSONRPC(message []byte) bool {
	const member = `"jsonrpc":"2.0"`
	return bytes.HasPrefix(message, []byte("{"+member+",")) || bytes.HasSuffix(message, []byte(","+member+"}")) ||
		string(transport.Member(message, "jsonrpc")) == `"2.0"`
}
