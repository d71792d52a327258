package halves

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// serverURL is where a recorded client finds the live server.
const serverURL = "http://server/mcp"

// web is what a half needs over HTTP only.
type web struct {
	client *streamable.ClientConn // of a recorded client, or nil
	driver *standin.Driver        // of the same
	posted map[uint64]uint64      // the recorded events of the client's frames by the number of their exchange, if recorded over HTTP
	heard  func(transport.Frame)  // a recorded server has read a frame; nil of a client
}

// webSession is a session as it is played over HTTP.
type webSession struct {
	events    []store.Event
	client    streamable.Client
	responses *standin.Responses
}

func newWebSession(events []store.Event) *webSession {
	w := &webSession{events: events, client: standin.Dial(events, serverURL)}
	if w.client.Legacy { // its answers came on another exchange: play it as if it was recorded on stdio
		w.events = slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool { return e.Kind == store.HTTP })
		for i := range w.events {
			w.events[i].Stream = 0
		}
		w.client = standin.Dial(w.events, serverURL)
	}
	w.responses = standin.ResponsesOf(w.events)
	return w
}

// HTTPClient lets the recorded client of a session play over HTTP, by the requests of a client that
// makes no connection. conn is the half's end of the session: Close deletes the session. A session
// of stdio or of HTTP+SSE is played as Streamable HTTP.
func HTTPClient(run Run, session *Session, requests *http.Client) (h *Recorded, conn transport.Conn, err error) {
	played := session.web()
	client := played.client
	client.Client = requests
	client.DeleteTimeout = -1 // no time limit: a half has no clock
	if manner := client.Manner; manner != nil {
		client.Manner = func(stream uint64) *streamable.Manner {
			m := manner(stream)
			if m != nil {
				m.Patience = 0 // for the same reason: a Write does not wait for the response
			}
			return m
		}
	}
	dialed, err := client.Dial(context.Background())
	if err != nil {
		return nil, nil, err
	}
	h, driver := newClient(run, session, played.events)
	driver.HangUpForGood()
	h.conn = dialed
	h.web = web{client: dialed, driver: driver, posted: map[uint64]uint64{}}
	h.play(driver.Start(), nil)
	return h, dialed, nil
}

// HTTPServer lets the recorded server of a session respond over HTTP. Where the session was recorded
// on stdio, a response is one message, or a stream of events with ids. The server has a single
// session: a client that begins another one is refused.
func HTTPServer(run Run, session *Session) (h *Recorded, handler http.Handler) {
	responses := session.web().responses
	server := streamable.NewServer(responses.Options)
	h, player := newServer(run, session, responses.Events)
	conn := &firstSession{server: server, begun: make(chan struct{}), refuse: func() { run.Go(refuseSessions(server)) }}
	h.conn = conn
	h.web.heard = func(frame transport.Frame) {
		if answer, ok := responses.To(player, frame.Stream); ok {
			conn.session.Answer(frame.Stream, answer)
		}
	}
	h.play(player.Start(), player.End)
	return h, server
}

// firstSession is the first session of a server.
type firstSession struct {
	server  *streamable.Server
	session *streamable.ServerConn // set when begun is closed
	begun   chan struct{}
	refuse  func() // refuses the other sessions
}

// Read waits for the session. Only one goroutine reads.
func (c *firstSession) Read(ctx context.Context) (transport.Frame, error) {
	if c.session == nil {
		session, err := c.server.Accept(ctx)
		if err != nil {
			return transport.Frame{}, err
		}
		c.session = session
		close(c.begun)
		c.refuse()
	}
	return c.session.Read(ctx)
}

// Write waits for the session.
func (c *firstSession) Write(ctx context.Context, frame transport.Frame) error {
	select {
	case <-c.begun:
		return c.session.Write(ctx, frame)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the session. Its reader calls it, or has ended.
func (c *firstSession) Close() error {
	if c.session == nil {
		return nil
	}
	return c.session.Close()
}

func refuseSessions(server *streamable.Server) func(context.Context) {
	return func(ctx context.Context) {
		for {
			session, err := server.Accept(ctx)
			if err != nil {
				return
			}
			_ = session.Close()
		}
	}
}

// post sends a frame as an exchange of HTTP. The next frame waits until the frame was taken. At SendingOrder the
// frame of a client is only offered before the next one: which goroutine runs first must not show. A
// server keeps the order: frames on the same stream have one.
func (h *Recorded) post(ctx context.Context, frame transport.Frame, operation string, n int) {
	offered := make(chan struct{})
	offer := sync.OnceFunc(func() { close(offered) })
	write := func(ctx context.Context) {
		defer offer()
		if h.conn.Write(gate.WithPlayed(ctx, operation, offer), frame) != nil {
			return
		}
		h.mu.Lock()
		if h.web.posted != nil && frame.Stream > 0 {
			h.web.posted[frame.Stream] = h.machine.Seq(n)
		}
		h.wrote(frame, n)
		h.mu.Unlock()
		wake(h.wake)
	}
	if h.run.Loose && h.web.client != nil {
		h.run.Go(write)
		<-offered
	} else {
		write(ctx)
	}
}

// hangUp ends exchanges where the recorded client did. The half is locked.
func (h *Recorded) hangUp() {
	if h.web.client == nil || len(h.queue) > 0 || h.flying > 0 {
		return
	}
	exchanges := h.web.driver.HangUps()
	for _, exchange := range exchanges {
		h.web.client.HangUp(exchange)
		h.calls.hungUp(h.web.posted[exchange])
	}
	if len(exchanges) > 0 {
		h.queue = append(h.queue, h.web.driver.AfterHangUps()...)
	}
}
