package state

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

const (
	methodListen = "subscriptions/listen"
	// subscriptionID is the member of _meta that names a listen request.
	subscriptionID = "io.modelcontextprotocol/subscriptionId"
)

// Subscription is what a server is asked to tell: of a resource, or by a listen request.
type Subscription struct {
	URI      string          `json:"uri,omitempty"`
	Listen   json.RawMessage `json:"listen,omitempty"` // the id of the listen request
	Filter   json.RawMessage `json:"filter,omitempty"` // what that asks for
	Since    uint64          `json:"since"`            // the event that made it, the listen request's own
	Pending  bool            `json:"pending,omitempty"`
	Notified uint64          `json:"notified"` // notifications so far
}

// subscribes takes in that a subscription was made or given up.
func (s *State) subscribes(e store.Event, x *call) {
	switch x.method {
	case "resources/subscribe":
		if _, ok := s.subscriptions[x.target]; !ok {
			s.subscriptions[x.target] = Subscription{URI: x.target, Since: e.Seq}
		}
	case "resources/unsubscribe":
		delete(s.subscriptions, x.target)
	}
}

// notified counts a notification of a subscription.
func (s *State) notified(e store.Event, m *transport.Message) {
	if e.Dir != transport.ServerToClient {
		return
	}
	if bytes.Contains(m.Params, []byte(subscriptionID)) {
		id := transport.Member(m.Params, "_meta", subscriptionID)
		if x := s.find(transport.ClientToServer, id, e.Stream); x != nil && x.method == methodListen {
			s.listens(e, x, m)
		}
		return
	}
	if m.Method == "notifications/resources/updated" {
		uri := text(transport.Member(m.Params, "uri"))
		if sub, ok := s.subscriptions[uri]; ok {
			sub.Notified++
			s.subscriptions[uri] = sub
		}
	}
}

// listens takes in a notification of a listen request.
func (s *State) listens(e store.Event, x *call, m *transport.Message) {
	s.taken(x.dir, x.stream, x.seq)
	if strings.HasSuffix(m.Method, "/acknowledged") {
		if x.acknowledged == 0 {
			s.listening++
		}
		x.acknowledged = e.Seq
		if x.version != "" {
			s.revision = x.version
		}
		return
	}
	x.notified++
}
