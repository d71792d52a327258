package order

import (
	"bytes"
	"encoding/json"

	"github.com/mcprec/mcprec/transport"
)

// handshake is where a session with one stands.
type handshake struct {
	count            int       // initialize requests
	request          *Exchange // the latest
	initialized      bool      // initialized is on the wire
	repeats          bool      // HTTP refused that, and the client may send it again
	initializedGiven Mark
	early            string // the first message that was sent before initialize
}

// judgeHandshake is rule P4. It holds where initialize was sent, or a revision
// with a handshake was known beforehand.
func (c *Checker) judgeHandshake(dir transport.Direction, m *message, known Mark, batch bool) {
	h := &c.handshake
	switch {
	case m.Method == methodInitialize && dir == transport.ClientToServer:
		c.judgeInitialize(m, batch)
	case m.Method == methodPing || c.stateless() || m.version >= Revision2026_07_28 || m.Method == methodDiscover:
	case dir == transport.ServerToClient:
		if h.request != nil && m.kind == transport.Request && !knows(h.initializedGiven, known) {
			c.breaks(lawServerWaits, dir, "%s before it had received initialized", m.Method)
		}
	case h.request == nil:
		if c.revision != "" {
			c.breaks(lawInitializeFirst, dir, "%s before initialize", m.Method)
		}
	case m.Method == methodInitialized:
		c.judgeInitialized(known)
	case m.kind == transport.Request && !knows(h.request.answerGiven, known):
		c.breaks(lawClientWaits, dir, "%s before it had received the response to initialize", m.Method)
	case m.kind == transport.Request && !h.initialized:
		c.breaks(lawClientReady, dir, "%s before initialized", m.Method)
	}
}

func (c *Checker) judgeInitialize(m *message, batch bool) {
	h := &c.handshake
	if batch {
		c.breaks(lawInitializeAlone, transport.ClientToServer, "initialize (id %s) in a batch", m.ID)
	}
	switch {
	case h.early != "" && h.request == nil:
		c.breaks(lawInitializeFirst, transport.ClientToServer, "initialize (id %s) after %s", m.ID, h.early)
	case h.request != nil && !h.request.failed:
		c.breaks(lawInitializeOnce, transport.ClientToServer, "initialize (id %s) again", m.ID)
	}
}

func (c *Checker) judgeInitialized(known Mark) {
	switch h := &c.handshake; {
	case !knows(h.request.answerGiven, known):
		c.breaks(lawInitialized, transport.ClientToServer, "initialized before it had received the response to initialize")
	case h.request.failed:
		c.breaks(lawInitialized, transport.ClientToServer, "initialized after initialize had failed")
	case h.initialized && !h.repeats:
		c.breaks(lawInitializedOnce, transport.ClientToServer, "initialized again")
	}
}

// beginsHandshake keeps what a request means for the handshake.
func (c *Checker) beginsHandshake(x *Exchange) {
	h := &c.handshake
	switch {
	case x.Dir == transport.ServerToClient || x.Method == methodPing:
	case x.Method == methodInitialize:
		h.count++
		x.session = h.count
		h.request, h.initialized, h.repeats, h.initializedGiven = x, false, false, 0
	case h.request == nil && h.early == "" && !c.stateless() && x.Method != methodDiscover:
		h.early = x.String()
	}
}

// names finds the revision that a client's request names. One that only asks
// what the server speaks settles nothing before the answer.
func (c *Checker) names(m *message) {
	if m.Method == methodInitialize {
		if v := text(transport.Member(m.Params, "protocolVersion")); v < Revision2026_07_28 {
			c.revision = v
		} else {
			c.revision = Revision2025_11_25 // the last that has a handshake
		}
		return
	}
	if v := m.version; v >= Revision2026_07_28 && m.Method != methodDiscover {
		c.revision = v
	}
}

// settles finds the revision that a response agrees to.
func (c *Checker) settles(x *Exchange, m *message) {
	switch {
	case x.Dir != transport.ClientToServer || x.failed:
	case x.Method == methodInitialize:
		if v := text(transport.Member(m.Result, "protocolVersion")); v != "" {
			c.revision = v
		}
	case x.Method == methodDiscover && c.handshake.request == nil:
		c.revision = max(c.revision, Revision2026_07_28)
	}
}

// text returns the text of a JSON string, "" of anything else.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
