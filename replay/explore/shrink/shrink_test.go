package shrink

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// script makes a session of lines: "> {json}" from the client, "< {json}" from the
// server.
func script(lines ...string) []store.Event {
	h := store.Header{ID: "01a1fee3-fd30-71a3-95ac-6d331e66740d", Transport: "stdio", Expect: "pass"}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: h.Encode()}}
	add := func(e store.Event) {
		e.Seq, e.At = uint64(len(events)+1), time.Duration(len(events))*time.Millisecond
		events = append(events, e)
	}
	for _, line := range lines {
		dir := transport.ClientToServer
		if line[0] == '<' {
			dir = transport.ServerToClient
		}
		add(store.Event{Kind: store.Frame, Dir: dir, Payload: []byte(strings.TrimSpace(line[1:]))})
	}
	add(store.Event{Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{Frames: uint64(len(lines))})})
	return events
}

var handshake = []string{
	`> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`,
	`< {"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`,
	`> {"jsonrpc":"2.0","method":"notifications/initialized"}`,
}

func lines(events []store.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == store.Frame {
			fmt.Fprintf(&b, "%v %s\n", e.Dir, e.Payload)
		}
	}
	return b.String()
}

// illegal returns the first MUST that a session breaks; "" if none. Each end is
// taken to know all that stands before.
func illegal(events []store.Event) string {
	c := order.New("")
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		step := model.Take(e)
		if e.Kind != store.Frame {
			continue
		}
		for _, v := range c.Send(step, c.Mark(e.Dir)) {
			if v.Severity == order.Error {
				return fmt.Sprintf("#%d %s: %v", e.Seq, e.Payload, v)
			}
		}
		c.Give(order.FrameOf(step))
	}
	return ""
}

// whole says what is wrong with the form of a session; "" if nothing.
func whole(events []store.Event) string {
	var v store.Validator
	for _, e := range events {
		if err := v.Check(e); err != nil {
			return err.Error()
		}
	}
	open := map[string]int{}
	for _, e := range events {
		messages, _ := e.AsFrame().Messages()
		for _, m := range messages {
			if e.Kind != store.Frame {
				continue
			}
			switch m.Kind() {
			case transport.Request:
				open[fmt.Sprint(e.Dir, string(m.ID))]++
			case transport.Response:
				if open[fmt.Sprint(e.Dir.Reverse(), string(m.ID))]--; open[fmt.Sprint(e.Dir.Reverse(), string(m.ID))] < 0 {
					return fmt.Sprintf("#%d %s: a response to nothing", e.Seq, e.Payload)
				}
			}
		}
	}
	for id, n := range open {
		if n > 0 {
			return "request left open: " + id
		}
	}
	return ""
}

func TestSession(t *testing.T) {
	events := study(30, 1, 0)
	try := Closed(closed.NotificationQueue(1), closed.Independent)
	r := Session(events, try, Options{})
	if again := Session(events, try, Options{}); !reflect.DeepEqual(r, again) {
		t.Error("the same session gives another result")
	}
	if got := try(r.Candidate).Fingerprint; got != r.Fingerprint || got == "" {
		t.Errorf("fingerprint %q, want %q", got, r.Fingerprint)
	}
	if fault := whole(r.Events); fault != "" {
		t.Error(fault)
	}
	if fault := illegal(r.Events); fault != "" {
		t.Error(fault)
	}
	h, err := store.ParseHeader(r.Events[0].Payload)
	if _, bad := h.ID.Bytes(); err != nil || bad != nil || h.ID == "01a1fee3-fd30-71a3-95ac-6d331e66740d" || h.Expect != "" {
		t.Errorf("header %+v: %v, %v", h, err, bad)
	}
}

func TestSessionThatPasses(t *testing.T) {
	events := study(3, 1, 0)
	r := Session(events, Closed(closed.NotificationQueue(5), closed.Independent), Options{})
	if r.Fingerprint != "" || r.Tries != 1 || r.To != r.From || !reflect.DeepEqual(r.Events, events) {
		t.Errorf("%+v", r)
	}
}

// A session has two bugs; whichever it fails with, the result has that one.
func TestNoSlip(t *testing.T) {
	events := study(30, 1, 0)
	try := func(c Candidate) Outcome {
		text := lines(c.Events)
		switch {
		case strings.Contains(text, `"uri":"file:///6"`) && strings.Contains(text, `list_changed`):
			return Outcome{Fingerprint: "rare"}
		case strings.Contains(text, `tools/list"`):
			return Outcome{Fingerprint: "common"}
		}
		return Outcome{}
	}
	r := Session(events, try, Options{fragment: true})
	if r.Fingerprint != "rare" || r.To != 3 || try(r.Candidate).Fingerprint != "rare" {
		t.Errorf("%s: %d messages\n%s", r.Fingerprint, r.To, lines(r.Events))
	}
}

func TestBudget(t *testing.T) {
	r := Session(study(30, 1, 0), without(Closed(closed.NotificationQueue(1), closed.Independent)), Options{Budget: 5})
	if !r.Spent || r.To >= r.From || r.Tries > 5+3 {
		t.Errorf("spent %v, %d → %d messages, %d tries", r.Spent, r.From, r.To, r.Tries)
	}
}

func TestBoundaryText(t *testing.T) {
	b := Boundary{At: closed.Capacity{C2S: 1, S2C: 1}, C2S: closed.Unbounded, S2C: 2}
	if want := "it fails even with unbounded room from client to server; it fails with room for 1 message from server to client, not for 2"; b.String() != want {
		t.Errorf("%s, want %s", b, want)
	}
}

func TestBoundary(t *testing.T) {
	head := []string{}
	for i := range 4 {
		head = append(head, fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i), fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
	}
	for i := range 4 {
		head = append(head, fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"result":{}}`, i), fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":{"tools":[]}}`, i))
	}
	try := Closed(closed.SingleThreaded, closed.SingleThreaded)
	c := closed.Capacity{C2S: 2, S2C: 3}
	for _, test := range []struct {
		opt  Options
		to   int
		want string
	}{
		{Options{Capacity: c}, 4, "it fails with room for 0 messages from client to server, not for 1; it fails with room for 0 messages from server to client, not for 1"},
		{Options{Capacity: c, keepCapacity: true}, 14, "it fails with room for 2 messages from client to server, not for 3; it fails with room for 3 messages from server to client, not for 4"},
	} {
		r := Session(script(head...), try, test.opt)
		if r.To != test.to || r.Boundary.String() != test.want {
			t.Errorf("%d messages, boundary %v, want %d, %s\n%s", r.To, r.Boundary, test.to, test.want, lines(r.Events))
		}
	}
}
