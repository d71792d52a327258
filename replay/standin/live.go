package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Live is a server behind a Player, which is asked whatever is not recorded. It is connected
// at the first such request, and gets only the client's own handshake of what went before.
// Placeholders of redacted secrets do not go to it. It serves one call of Serve.
type Live struct {
	// Server opens the connection.
	Server transport.Transport

	s      *serving
	router *liveRouter
	start  time.Time
	conn   transport.Conn    // nil: not asked yet
	queue  []transport.Frame // to the live server
	news   chan struct{}     // there may be more in it, or the client has ended
	cancel context.CancelFunc
	over   bool   // nothing more will be asked, or said
	dead   string // why nothing can be asked
	err    error  // why it could not be connected
}

// Added returns what passed between the client and the live server, for [Extend].
// It is for after Serve.
func (l *Live) Added() []store.Event { return slices.Clone(l.router.added) }

// Err returns why the server could not be connected or could not be closed, if so.
// It is for after Serve.
func (l *Live) Err() error { return l.err }

// hear takes a frame of the client and reports whether it is for the player. The
// serving's lock is held.
func (l *Live) hear(f transport.Frame) bool {
	toPlayer, toLive, toClient := l.router.fromClient(f, time.Since(l.start))
	l.s.pass(toClient)
	switch {
	case len(toLive) == 0:
	case l.dead != "":
		l.s.pass(l.router.abandon(l.dead))
	default:
		l.queue = append(l.queue, toLive...)
		notify(l.news)
	}
	return toPlayer
}

// run passes frames on to the live server until the client has ended, and ends
// that then.
func (l *Live) run(ctx context.Context) {
	var reader sync.WaitGroup
	defer func() {
		l.s.mu.Lock()
		l.over = true
		l.s.mu.Unlock()
		notify(l.s.news)
	}()
	for {
		f, more, ended := l.next()
		switch {
		case more:
			if err := l.ask(ctx, f, &reader); err != nil {
				l.fail("the live server "+err.Error(), l.conn != nil)
			}
		case ended:
			l.part(ctx, &reader)
			return
		default:
			select {
			case <-l.news:
			case <-ctx.Done():
				l.close()
				reader.Wait()
				return
			}
		}
	}
}

func (l *Live) next() (f transport.Frame, more, ended bool) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if len(l.queue) == 0 {
		return f, false, l.s.ended
	}
	f = l.queue[0]
	l.queue = l.queue[1:]
	return f, true, false
}

// ask writes a frame to the live server, and connects it before the first.
func (l *Live) ask(ctx context.Context, f transport.Frame, reader *sync.WaitGroup) error {
	if l.conn == nil {
		conn, err := l.connect(ctx)
		if err != nil {
			l.err = fmt.Errorf("the live server cannot be asked: %w", err)
			return fmt.Errorf("cannot be asked: %w", err)
		}
		l.conn = conn
		context.AfterFunc(ctx, func() { conn.Close() }) // wakes a write that heeds no context; l.close waits for it
		reader.Go(func() { l.read(ctx) })
	}
	if err := l.conn.Write(ctx, f); err != nil && !errors.Is(err, transport.ErrClosed) {
		return fmt.Errorf("cannot be written to: %w", err)
	}
	return nil // the reader hears of a closed connection
}

// connect opens the live server and goes through the client's handshake with it:
// the answer to that is in the recording.
func (l *Live) connect(ctx context.Context) (transport.Conn, error) {
	conn, err := l.Server.Connect(ctx)
	if err != nil {
		return nil, err
	}
	l.s.mu.Lock()
	handshake := slices.Clone(l.router.handshake)
	l.s.mu.Unlock()
	for _, f := range handshake {
		err := conn.Write(ctx, f)
		if err == nil && slices.ContainsFunc(timeline.MessagesOf(f), func(m transport.Message) bool { return m.Kind() == transport.Request }) {
			for answered := false; err == nil && !answered; {
				var answer transport.Frame
				answer, err = conn.Read(ctx)
				answered = slices.ContainsFunc(timeline.MessagesOf(answer), func(m transport.Message) bool { return m.Kind() == transport.Response })
			}
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("handshake: %w", err), conn.Close())
		}
	}
	return conn, nil
}

// read passes on what the live server says until it ends.
func (l *Live) read(ctx context.Context) {
	for {
		f, err := l.conn.Read(ctx)
		if err != nil {
			l.fail(l.howEnded(err), ctx.Err() == nil)
			return
		}
		l.s.mu.Lock()
		l.s.pass([]transport.Frame{l.router.fromLive(f, time.Since(l.start))})
		l.s.mu.Unlock()
	}
}

// howEnded says how the live server has ended.
func (l *Live) howEnded(err error) string {
	if err != io.EOF {
		return fmt.Sprintf("the live server cannot be read from: %v", err)
	}
	process, ok := l.conn.(interface {
		Status() (transport.ExitStatus, error)
	})
	if ok && l.conn.Close() == nil {
		if status, err := process.Status(); err == nil {
			return fmt.Sprintf("the live server has ended, exit %v", store.ExitInfoOf(status))
		}
	}
	return "the live server has ended"
}

// fail answers what the live server will not, now and later, and says why unless
// that is for Err.
func (l *Live) fail(why string, say bool) {
	l.s.mu.Lock()
	known := l.dead != "" || l.s.ended
	if l.dead == "" {
		l.dead = why
	}
	l.queue = nil
	l.s.pass(l.router.abandon(l.dead))
	l.s.mu.Unlock()
	if !known && say {
		l.s.Say(why)
	}
}

// part ends the client's side of the live server and hears it out.
func (l *Live) part(ctx context.Context, reader *sync.WaitGroup) {
	if l.conn == nil {
		return
	}
	half, ok := l.conn.(transport.HalfCloser)
	if ok && half.CloseWrite() == nil {
		read := make(chan struct{})
		go func() { reader.Wait(); close(read) }()
		select {
		case <-read:
		case <-ctx.Done():
		}
	}
	l.close()
	reader.Wait()
}

func (l *Live) close() {
	if l.conn == nil {
		return
	}
	if err := l.conn.Close(); err != nil {
		l.err = errors.Join(l.err, fmt.Errorf("close the live server: %w", err))
	}
}

// liveRouter decides what goes past a Player to a live server behind it, and back. It
// is pure: the connections are its caller's.
type liveRouter struct {
	player    *Player
	handshake []transport.Frame           // of the live client, as the player has answered it
	open      map[mcp.Key]openRequest     // by id: what the live server has still to answer
	asked     map[mcp.Key]json.RawMessage // its own requests under way: its id, by the client's
	tokens    map[mcp.Key]bool            // progress tokens of those
	taken     map[mcp.Key]bool            // ids of the recorded server's requests
	renamed   int
	renames   map[mcp.Key]json.RawMessage // of those: the client's id of the latest, by its own
	added     []store.Event               // what passed, as the live server knows it
}

// openRequest is a request under way.
type openRequest struct {
	id     json.RawMessage
	method string
	stream uint64
}

func newLiveRouter(p *Player) *liveRouter {
	d := &liveRouter{player: p, open: map[mcp.Key]openRequest{}, asked: map[mcp.Key]json.RawMessage{}, tokens: map[mcp.Key]bool{}, taken: map[mcp.Key]bool{}, renames: map[mcp.Key]json.RawMessage{}}
	for _, r := range p.serverFrames {
		for _, q := range r.requests {
			d.taken[q.id] = true
		}
	}
	return d
}

// fromClient says who is to hear a frame of the client: the player or the live server.
// A batch with anything in it that is not recorded goes to the live server whole; one
// with a redacted value to nobody, see refuse.
func (d *liveRouter) fromClient(f transport.Frame, at time.Duration) (toPlayer bool, toLive, toClient []transport.Frame) {
	messages := timeline.MessagesOf(f)
	if !slices.ContainsFunc(messages, d.isForLive) {
		for _, m := range messages {
			if m.Method == mcp.MethodInitialize || m.Method == mcp.NotificationInitialized {
				d.handshake = append(d.handshake, f)
			}
		}
		return true, nil, nil
	}
	if masks := match.Masks(f.Bytes); len(masks) > 0 {
		toLive, toClient = d.refuse(f, string(masks[0]), at)
		return false, toLive, toClient
	}
	for i, m := range messages {
		switch m.Kind() {
		case transport.Request:
			d.open[mcp.KeyOf(m.ID)] = openRequest{bytes.Clone(m.ID), m.Method, f.Stream}
		case transport.Response:
			key := mcp.KeyOf(m.ID)
			if id := d.asked[key]; id != nil {
				delete(d.asked, key)
				f.Bytes, _ = match.Splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
		default:
			delete(d.open, mcp.KeyOf(timeline.CancelledID(m))) // an answer is not waited for any more
		}
	}
	d.add(transport.ClientToServer, f, at)
	return false, []transport.Frame{f}, nil
}

// isForLive reports whether a message of the client is for the live server.
func (d *liveRouter) isForLive(m transport.Message) bool {
	switch m.Kind() {
	case transport.Request:
		return !d.player.Knows(m)
	case transport.Response:
		return d.asked[mcp.KeyOf(m.ID)] != nil
	case transport.Notification:
		_, cancelled := d.open[mcp.KeyOf(timeline.CancelledID(m))]
		return cancelled || m.Method == mcp.NotificationProgress && d.tokens[mcp.KeyOf(m.ProgressToken())]
	}
	return false
}

// fromLive takes a frame of the live server and returns it as the client is to see
// it: with other ids of requests where a recorded request has the same.
func (d *liveRouter) fromLive(f transport.Frame, at time.Duration) transport.Frame {
	d.add(transport.ServerToClient, f, at)
	for i, m := range timeline.MessagesOf(f) {
		switch m.Kind() {
		case transport.Notification:
			if id := d.renames[mcp.KeyOf(timeline.CancelledID(m))]; id != nil {
				f.Bytes, _ = match.Splice(f.Bytes, id, append(within(f.Bytes, i), "params", mcp.MemberRequestID)...)
			}
		case transport.Response:
			key := mcp.KeyOf(m.ID)
			if o, ok := d.open[key]; ok {
				f.Stream = o.stream
				delete(d.open, key)
			}
		case transport.Request:
			id := bytes.Clone(m.ID)
			if d.taken[mcp.KeyOf(id)] {
				d.renamed++
				id = fmt.Appendf(nil, `"mcprec-live-%d"`, d.renamed)
				d.renames[mcp.KeyOf(m.ID)] = id
				f.Bytes, _ = match.Splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
			d.asked[mcp.KeyOf(id)] = bytes.Clone(m.ID)
			if token := m.ProgressToken(); token != nil {
				d.tokens[mcp.KeyOf(token)] = true
			}
		}
	}
	return f
}

func (d *liveRouter) add(dir transport.Direction, f transport.Frame, at time.Duration) {
	d.added = append(d.added, store.Event{At: at, Kind: store.Frame, Dir: dir, Payload: f.Bytes, Unterminated: f.Unterminated})
}

// abandon answers what is under way in place of a live server that cannot. It was
// never asked, as far as the recording goes: or that would be silent the next time.
func (d *liveRouter) abandon(why string) []transport.Frame {
	d.added = slices.DeleteFunc(d.added, func(e store.Event) bool {
		return e.Dir == transport.ClientToServer && slices.ContainsFunc(timeline.MessagesOf(e.AsFrame()), func(m transport.Message) bool {
			_, under := d.open[mcp.KeyOf(m.ID)]
			return m.Kind() == transport.Request && under
		})
	})
	var frames []transport.Frame
	for _, key := range slices.Sorted(maps.Keys(d.open)) {
		o := d.open[key]
		frames = append(frames, answerTo(o.id, o.stream, missBody("not recorded, and "+why)))
	}
	clear(d.open)
	return frames
}

// refuse answers what is for the live server and holds a redacted value, which came
// to the client with a recorded answer: a request to the client, an answer of the
// client to the live server. Nothing else of the frame goes on.
func (d *liveRouter) refuse(f transport.Frame, mask string, at time.Duration) (toLive, toClient []transport.Frame) {
	for _, m := range timeline.MessagesOf(f) {
		what, id, to := about(m), m.ID, &toClient
		if m.Kind() == transport.Response {
			what, id, to = "an answer", d.asked[mcp.KeyOf(m.ID)], &toLive
		}
		text := fmt.Sprintf("%s holds %s, which stands for a secret: it was not sent to the live server", what, mask)
		d.player.findings.extra(what, text, true)
		if id == nil {
			continue
		}
		answer := answerTo(id, f.Stream, missBody(text))
		*to = append(*to, answer)
		if m.Kind() == transport.Response {
			delete(d.asked, mcp.KeyOf(m.ID))
			d.add(transport.ClientToServer, answer, at)
		}
	}
	return toLive, toClient
}
