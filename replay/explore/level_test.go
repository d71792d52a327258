package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// overtaken asks for the list and drops a list_changed that comes before it.
func overtaken(r *Run) {
	r.RecordedServer()
	conn := r.Client()
	r.Op("list", func(ctx context.Context) error {
		if err := conn.Write(ctx, frame(expand("1:tools/list"))); err != nil {
			return err
		}
		listed, stale := false, false
		for range 2 {
			f, err := conn.Read(ctx)
			if err != nil {
				return err
			}
			changed := messages(f)[0].Method == "notifications/tools/list_changed"
			stale, listed = stale || changed && listed, listed || !changed
		}
		if !stale {
			return errors.New("the list has changed and the client does not know")
		}
		return nil
	})
}

// impatient has two calls under way and takes progress for its oldest one only.
func impatient(r *Run) {
	r.RecordedServer()
	conn := r.Client()
	r.Op("calls", func(ctx context.Context) error {
		open := []string{"1", "2"} // ids and progress tokens, the oldest call first
		for i, name := range []string{"one", "two"} {
			if err := conn.Write(ctx, frame(expand(open[i]+":"+name))); err != nil {
				return err
			}
		}
		for len(open) > 0 {
			f, err := conn.Read(ctx)
			if err != nil {
				return err
			}
			m := messages(f)[0]
			if m.Method == mcp.NotificationProgress && string(m.ProgressToken()) != open[0] {
				return fmt.Errorf("progress of %s while %v are open", m.ProgressToken(), open)
			}
			open = slices.DeleteFunc(open, func(id string) bool { return id == string(m.ID) })
		}
		return nil
	})
}

// TestL1 holds that some faults show only when the recorded server makes use of
// the order that the specification leaves open, and that the report says so.
func TestL1(t *testing.T) {
	for _, bug := range []struct {
		name    string
		plan    Plan
		session string
	}{
		{"overtaken", Plan{Setup: overtaken}, "> 1:tools/list\n< 1=tools\n< ~tools/list_changed"},
		{"impatient", Plan{Setup: impatient}, "> 1:one\n> 2:two\n< %1\n< 1=first\n< %2\n< 2=second"},
	} {
		t.Run(bug.name, func(t *testing.T) {
			p := bug.plan
			p.Session, p.Schedules = recording(bug.session), 600
			Explore(t, p)
			p.Level, p.Schedules = SendingOrder, 200
			r := Search(t, p)
			if r.Verdict != CheckFailed || r.Level != SendingOrder {
				t.Fatal(r.Text())
			}
			p.Level, p.Token = DeliveryOrder, r.Token
			if again := Search(t, p); again.Verdict != r.Verdict || again.Level != SendingOrder || again.Explanation != r.Explanation {
				t.Errorf("by its token:\n%s\nwant\n%s", again.Text(), r.Text())
			}
		})
	}
}

// What a loosened half says is legal, and its order is not always the recorded
// one: at each capacity each kind of order comes up.
func TestL1IsLegal(t *testing.T) {
	orders := map[string]bool{}
	Explore(t, Plan{Level: SendingOrder, Session: recording(twoTools), Schedules: 600, Setup: func(r *Run) {
		r.RecordedServer()
		r.RecordedClient()
	}, Check: func(r *Run) error {
		said := ""
		for _, s := range r.course.steps {
			if s.Kind == gate.Take {
				said += s.Name() + "\n"
			}
		}
		orders[said] = true
		if len(r.peers.gate.Breaches) > 0 {
			return fmt.Errorf("breaches: %v", r.peers.gate.Breaches)
		}
		return nil
	}})
	if len(orders) < 20 {
		t.Errorf("only %d orders", len(orders))
	}
}

// Eager keeps the recorded order at SendingOrder, too, so that a token says what must be
// otherwise for the failure.
func TestL1Eager(t *testing.T) {
	session := recording(twoTools + "\n< ~message\n> 4:x\n> 5:x\n< ~message\n< %5\n< 5=b\n< 4=a")
	Explore(t, Plan{Level: SendingOrder, Session: session, Strategy: Eager, Schedules: len(Sweep), Setup: func(r *Run) {
		r.RecordedServer()
		r.RecordedClient()
	}, Check: func(r *Run) error {
		for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			var want, got []string
			for _, e := range session {
				if e.Dir == dir {
					want = append(want, string(e.Payload))
				}
			}
			for _, s := range r.course.steps {
				if s.Kind == gate.Take && s.Dir == dir {
					got = append(got, string(s.Flight.Frame.Bytes))
				}
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("%v in another order: %q, want %q", dir, got, want)
			}
		}
		return nil
	}})
}

// messages parses a frame; a frame that is not JSON has none.
func messages(f transport.Frame) []transport.Message {
	list, _ := f.Messages()
	return list
}

// A session in which several calls have one id at once plays at SendingOrder as at DeliveryOrder.
func TestModeledSameIDs(t *testing.T) {
	t.Parallel()
	session := recording(`
		> 1:initialize
		< 1=hello
		> ~initialized
		> 2:a
		> 2:b
		> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	passesAtBothLevels(t, session, 400)
}

// passesAtBothLevels explores a session, played by its recorded halves, at DeliveryOrder and at SendingOrder.
func passesAtBothLevels(t *testing.T, session []store.Event, schedules int) {
	t.Helper()
	for _, level := range []Level{DeliveryOrder, SendingOrder} {
		plan, err := Modeled(session, closed.Independent, closed.Independent)
		if err != nil {
			t.Fatal(err)
		}
		plan.Level, plan.Schedules, plan.Shrink = level, schedules, -1
		if r := Search(t, plan); r.Verdict != Pass {
			t.Errorf("%v:\n%s", level, r.Text())
		}
	}
}

// A session whose server answers under ids of another type, which its client took, plays at SendingOrder as at DeliveryOrder.
func TestModeledIDsOfAnotherType(t *testing.T) {
	t.Parallel()
	session := recording(`
		> 1:initialize
		< {"jsonrpc":"2.0","id":"1","result":{"text":"hello"}}
		> ~initialized
		> 2:one
		< {"jsonrpc":"2.0","id":"2","result":{"text":"a"}}
		> {"jsonrpc":"2.0","id":"3","method":"ping"}
		< {"jsonrpc":"2.0","id":3,"result":{}}`)
	passesAtBothLevels(t, session, 60)
}

// What no transport reads as a message is nothing that a recorded half asks, or awaits: two messages in a line, a
// form feed before one.
func TestModeledMisframed(t *testing.T) {
	t.Parallel()
	session := recording(`
		> 1:initialize
		< 1=hello
		> ~initialized
		> {"jsonrpc":"2.0","id":2,"method":"ping"}{"jsonrpc":"2.0","id":3,"method":"ping"}
		> 4:one
		< 4=a
		> 5:ping
		< {"jsonrpc":"2.0","id":5,"result":{}}`)
	last := &session[len(session)-1]
	last.Payload = append([]byte("\f"), last.Payload...)
	passesAtBothLevels(t, session, 60)
}
