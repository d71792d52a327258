package external

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// guest is a second client of a server over HTTP, with a session of its own. It says hello as the recorded client does, and
// makes one request, under the id of a request of that client, as clients of one SDK count alike. Or it subscribes to what that
// client has subscribed to, or makes a call of its, and ends its session. Or it subscribes, and unsubscribes.
type guest struct {
	client
	turn      turn
	request   sending
	id        json.RawMessage   // of the request
	replies   map[string][]byte // of the recorded client, by the method of the question
	isWelcome bool              // it has an answer to its hello
	isLeaving bool              // it ends its session when the other client has asked
	isSent    bool              // the request has gone out
	answer    string            // as it is compared; "": none so far
}

// turn is when a guest makes its request. Only the first is searched; the others tell what is right.
type turn int

const (
	atOnce turn = iota // together with the other client's
	before             // and has its answer when the other client asks
	after              // when the other client has its answer
	during             // when the server is at rest with the other client's request
)

// The numbers of a guest's frames.
const (
	guestHello = iota + 1
	guestReady
	guestRequest
)

// guestAnswer is the place of a guest's answer in those of a play: no event has this number.
const guestAnswer = 0

// refused begins the answer of a guest that was not welcome, and unanswered that of one that got none.
const refused, unanswered = "refused: ", "no answer"

// invite brings another client, which says hello and comes to rest. It returns the request of that client if it is to go out
// with a frame of the recorded one.
func (p *player) invite(c Choice, frame transport.Frame) (beside []sending) {
	own, asks := timeline.MessagesOf(frame), timeline.MessagesOf(recordedFrame(p.events, c.Last)) // a Part has only one, which a guest does not send
	if p.http == nil || len(own) != 1 || len(asks) != 1 {
		return nil
	}
	g := &guest{client: p.http.another(), turn: turn(c.At), id: own[0].ID, replies: repliesIn(p.events)}
	p.guest = g
	if c.Kind == Visit && g.turn == atOnce {
		g.turn = after
	}
	params := asks[0].Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	g.request = sending{seq: guestRequest, isGuest: true, frame: transport.Frame{
		Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, g.id, asks[0].Method, params),
	}}
	if first := p.play.frames[0]; first.isHello {
		p.write([]sending{{seq: guestHello, isGuest: true, frame: recordedFrame(p.events, first.seq)}})
		p.awaitGuest(func() bool { return g.isWelcome })
		if !g.isWelcome {
			g.answer = refused + g.outcome(guestHello).how
			return nil
		}
		p.write([]sending{{seq: guestReady, isGuest: true, frame: transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, mcp.NotificationInitialized)}}})
		p.awaitGuest(func() bool { return len(g.owed()) == 0 })
	}
	switch {
	case c.Kind == Clash:
		g.turn = during
	case c.Kind == Desert:
		p.sendGuest()
		p.awaitGuest(func() bool { return true }) // the call runs
		g.isLeaving = true
	case c.Kind == Part:
		p.subscribeGuest(mcp.MethodSubscribe)
		g.isLeaving = true
	case c.Kind == Unsubscribe && p.http.isNamed():
		p.subscribeGuest(mcp.MethodSubscribe)
		p.subscribeGuest(mcp.MethodUnsubscribe)
	case c.Kind == Unsubscribe:
	case g.turn == before:
		p.sendGuest()
		p.awaitGuest(func() bool { return g.answer != "" })
	case g.turn == atOnce:
		g.isSent = true
		return []sending{g.request}
	}
	return nil
}

// subscribeGuest subscribes a guest to what the recorded client has subscribed to, or unsubscribes it from that.
func (p *player) subscribeGuest(method string) {
	for _, f := range p.play.frames {
		uri, isSubscription := strings.CutPrefix(f.what, mcp.MethodSubscribe+" ")
		if !isSubscription {
			continue
		}
		id := fmt.Sprintf("%s %d", method, f.seq)
		p.write([]sending{{seq: guestRequest, isGuest: true, frame: transport.Frame{
			Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"uri":%q}}`, id, method, uri),
		}}})
		p.awaitGuest(func() bool { return p.guest.outcome(guestRequest).isOver })
	}
}

// leave ends the session of a guest that only was there to do so.
func (g *guest) leave() {
	if g != nil && g.isLeaving {
		g.End()
		g.isLeaving = false
	}
}

func (p *player) sendGuest() {
	p.guest.isSent = true
	p.write([]sending{p.guest.request})
}

// sendGuestLate makes the request of a guest that has waited for the other client's answer, and reports whether there was one.
func (p *player) sendGuestLate() bool {
	g := p.guest
	if g == nil || g.isSent || g.answer != "" || g.turn != after || len(p.owed()) > 0 {
		return false
	}
	p.sendGuest()
	return true
}

// clash makes the request of a guest beside that of the recorded client, under the same id, and cancels that one when the server is
// at rest with both. It reports whether it did something.
func (p *player) clash() bool {
	g := p.guest
	if g == nil || g.turn != during || g.answer != "" {
		return false
	}
	if !g.isSent {
		p.sendGuest()
		return true
	}
	for _, r := range p.owed() {
		if slices.ContainsFunc(p.schedule, func(c Choice) bool { return c.Kind == Clash && c.First == r.seq }) {
			p.write(p.cancel([]*request{r}))
			return true
		}
	}
	return false
}

// partWithGuest waits for the answer to a guest, which is compared as those of the recorded client are.
func (p *player) partWithGuest() {
	g := p.guest
	if g == nil || !g.isSent && g.answer == "" {
		return
	}
	p.awaitGuest(func() bool { return g.answer != "" })
	if g.answer == "" {
		g.answer = unanswered
		if how := g.outcome(guestRequest).how; how != "" {
			g.answer += ": " + how
		}
	}
	p.play.answers[guestAnswer] = g.answer
}

// awaitGuest hears the server until something has come to pass for the guest.
func (p *player) awaitGuest(isDone func() bool) { p.await(isDone, p.guest.proceed) }

// hearGuest takes what the server has said to the guest, and reports whether it was anything.
func (p *player) hearGuest() (isMore bool) {
	g := p.guest
	if g == nil {
		return false
	}
	for _, frame := range g.Said() {
		isMore = true
		for _, m := range timeline.MessagesOf(frame) {
			switch {
			case m.Kind() == transport.Request:
				p.answerAsGuest(m)
			case m.Kind() == transport.Notification:
				p.play.toldGuest = append(p.play.toldGuest, toldText(m, p.dir))
			case m.Kind() != transport.Response:
			case g.isSent && mcp.Same(m.ID, g.id):
				g.answer = canonical(m, p.dir)
			case !g.isWelcome:
				g.isWelcome = m.Error == nil
			}
		}
	}
	return isMore
}

// answerAsGuest answers a question of the server as the recorded client has.
func (p *player) answerAsGuest(m transport.Message) {
	body := `"error":{"code":-32601,"message":"the recorded client has no answer"}`
	if reply := p.guest.replies[m.Method]; reply != nil {
		body = `"result":` + string(reply)
	}
	if m.Method == mcp.MethodPing {
		body = `"result":{}`
	}
	p.write([]sending{{isGuest: true, frame: transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)}}})
}

// recordedFrame returns the frame of an event.
func recordedFrame(events []store.Event, seq uint64) transport.Frame {
	if i := slices.IndexFunc(events, func(e store.Event) bool { return e.Seq == seq && e.Kind == store.Frame }); i >= 0 {
		return transport.Frame{Bytes: slices.Clone(events[i].Payload)}
	}
	return transport.Frame{}
}

// meeting returns the choice of another client that asks together with a request: for the same with other arguments, or else
// for something else. ok is false if there is nothing else.
func meeting(events []store.Event, frames []frame, with frame) (c Choice, ok bool) {
	arguments := func(f frame) string {
		messages := timeline.MessagesOf(recordedFrame(events, f.seq))
		if len(messages) != 1 {
			return ""
		}
		return string(transport.Member(messages[0].Params, "arguments"))
	}
	best := 0
	for _, f := range frames {
		rank := 0
		switch {
		case !f.isRequest || f.isHello || f.waits:
		case f.what == with.what && arguments(f) != arguments(with):
			rank = 3
		case f.what != with.what && strings.HasPrefix(f.what, mcp.MethodCallTool):
			rank = 2
		case f.what != with.what:
			rank = 1
		}
		if rank > best {
			best = rank
			c = Choice{Kind: Meet, First: with.seq, Last: f.seq}
		}
	}
	return c, best > 0
}
