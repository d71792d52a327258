package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Peer is what an end has said of itself.
type Peer struct {
	Name         string          `json:"name,omitempty"`
	Version      string          `json:"version,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`

	info string // raw, to see a change without reading it
}

// The members of _meta in which requests and results of 2026-07-28 name their ends.
const (
	metaVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClient     = "io.modelcontextprotocol/clientInfo"
	metaCapability = "io.modelcontextprotocol/clientCapabilities"
	metaServer     = "io.modelcontextprotocol/serverInfo"
)

// says takes in an end's name and capabilities; nil says nothing.
func (p *Peer) says(info, capabilities json.RawMessage) {
	if info != nil && string(info) != p.info {
		p.info = string(info)
		p.Name, p.Version = text(transport.Member(info, "name")), text(transport.Member(info, "version"))
	}
	if capabilities != nil && !bytes.Equal(capabilities, p.Capabilities) {
		p.Capabilities = bytes.Clone(capabilities)
	}
}

// states takes in what a client's request says of the client.
func (s *State) states(x *call, m *transport.Message) {
	if x.dir != transport.ClientToServer {
		return
	}
	client := &s.peers[transport.ClientToServer]
	if x.method == "initialize" {
		client.says(transport.Member(m.Params, "clientInfo"), transport.Member(m.Params, "capabilities"))
		return
	}
	if x.method == "logging/setLevel" {
		s.logLevel = text(transport.Member(m.Params, "level"))
	}
	if !bytes.Contains(m.Params, []byte(metaVersion)) { // most have none, and looking is cheap
		return
	}
	meta := transport.Member(m.Params, "_meta")
	x.version = text(transport.Member(meta, metaVersion))
	client.says(transport.Member(meta, metaClient), transport.Member(meta, metaCapability))
}

// settles takes in what a server's result says of the server and of the revision: one
// is settled by the answer to initialize, from 2026-07-28 on by any result.
func (s *State) settles(e store.Event, x *call, result json.RawMessage) {
	if x.dir != transport.ClientToServer {
		return
	}
	server := &s.peers[transport.ServerToClient]
	switch {
	case x.method == "initialize":
		s.greeted = e.Seq
		s.revision = text(transport.Member(result, "protocolVersion"))
		server.says(transport.Member(result, "serverInfo"), transport.Member(result, "capabilities"))
		return
	case x.method == "server/discover":
		server.says(transport.Member(result, "serverInfo"), transport.Member(result, "capabilities"))
	}
	if x.version != "" && x.version >= order.Revision2026_07_28 {
		s.revision = x.version
		server.says(transport.Member(result, "_meta", metaServer), nil)
	}
}

// has reports whether an end has a capability, named by its members with dots between
// them: tools.listChanged.
func (p *Peer) has(path string) bool {
	switch string(transport.Member(p.Capabilities, strings.Split(path, ".")...)) {
	case "", "false", "null":
		return false
	}
	return true
}

// mostNames is how many capabilities a line names.
const mostNames = 20

// capabilities names what an end can do, in the order in which it says so; what a
// capability has of its own stands behind it.
func (p *Peer) capabilities() (names []string) {
	dec := json.NewDecoder(bytes.NewReader(p.Capabilities))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return names
		}
		if len(names) == mostNames {
			return append(names, "…")
		}
		name := clip(fmt.Sprint(key))
		var b bytes.Buffer
		if json.Compact(&b, value) == nil && b.String() != "{}" && b.String() != "true" {
			name += " " + clip(b.String())
		}
		names = append(names, name)
	}
	return names
}
