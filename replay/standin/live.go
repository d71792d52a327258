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

// Live is a server behind a Player. It answers the unrecorded requests. The first of these
// opens the connection; of earlier messages Live gets only the client's handshake. It gets no
// placeholders of masked secrets. A Live is for a single call of Serve.
type Live struct {
	// Server opens the connection.
	Server transport.Transport

	serving *serving // the lock guards router, queue, over and dead
	router  *liveRouter
	start   time.Time
	conn    transport.Conn    // nil: not connected yet
	queue   []transport.Frame // to the live server
	news    chan struct{}     // there may be more in the queue, or the client has ended
	cancel  context.CancelFunc
	over    bool   // no more requests or answers
	dead    string // why no request can be sent
	err     error  // why the connection could not be opened or closed
}

// Added returns the messages between the client and the live server, for [Extend]. Call it
// after Serve.
func (l *Live) Added() []store.Event { return slices.Clone(l.router.added) }

// Err returns why the server could not be connected or could not be closed, if so. Call it
// after Serve.
func (l *Live) Err() error { return l.err }

// hear takes a frame of the client and reports whether it is for the player. The serving's
// lock is held.
func (l *Live) hear(frame transport.Frame) bool {
	toPlayer, toLive, toClient := l.router.fromClient(frame, time.Since(l.start))
	l.serving.pass(toClient)
	switch {
	case len(toLive) == 0:
	case l.dead != "":
		l.serving.pass(l.router.abandon(l.dead))
	default:
		l.queue = append(l.queue, toLive...)
		notify(l.news)
	}
	return toPlayer
}

// run passes frames on to the live server until the client has ended, and then ends the live
// server.
func (l *Live) run(ctx context.Context) {
	var reader sync.WaitGroup
	defer func() {
		l.serving.mu.Lock()
		l.over = true
		l.serving.mu.Unlock()
		notify(l.serving.news)
	}()
	for {
		l.serving.mu.Lock()
		more, ended := len(l.queue) > 0, l.serving.ended
		var f transport.Frame
		if more {
			f = l.queue[0]
			l.queue = l.queue[1:]
		}
		l.serving.mu.Unlock()
		switch {
		case more:
			if err := l.ask(ctx, f, &reader); err != nil {
				l.fail("the live server "+err.Error(), l.conn != nil)
			}
		case ended:
			// End the client's side, and hear the live server out.
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

// ask writes a frame to the live server, and connects it before the first.
func (l *Live) ask(ctx context.Context, frame transport.Frame, reader *sync.WaitGroup) error {
	if l.conn == nil {
		conn, err := l.connect(ctx)
		if err != nil {
			l.err = fmt.Errorf("the live server cannot be asked: %w", err)
			return fmt.Errorf("cannot be asked: %w", err)
		}
		l.conn = conn
		context.AfterFunc(ctx, func() { conn.Close() }) // wakes a write that heeds no context; l.close waits
		reader.Go(func() { l.read(ctx) })
	}
	if err := l.conn.Write(ctx, frame); err != nil && !errors.Is(err, transport.ErrClosed) {
		return fmt.Errorf("cannot be written to: %w", err)
	}
	return nil // the reader hears of a closed connection
}

// connect opens the live server and goes through the client's handshake with it. The client
// has the answer from the recording.
func (l *Live) connect(ctx context.Context) (transport.Conn, error) {
	conn, err := l.Server.Connect(ctx)
	if err != nil {
		return nil, err
	}
	has := func(frame transport.Frame, kind transport.MessageKind) bool {
		return slices.ContainsFunc(timeline.MessagesOf(frame), func(m transport.Message) bool { return m.Kind() == kind })
	}
	l.serving.mu.Lock()
	handshake := slices.Clone(l.router.handshake)
	l.serving.mu.Unlock()
	for _, f := range handshake {
		err := conn.Write(ctx, f)
		for answered := !has(f, transport.Request); err == nil && !answered; {
			var answer transport.Frame
			answer, err = conn.Read(ctx)
			answered = has(answer, transport.Response)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("handshake: %w", err), conn.Close())
		}
	}
	return conn, nil
}

// read passes on the live server's frames until it ends.
func (l *Live) read(ctx context.Context) {
	for {
		f, err := l.conn.Read(ctx)
		if err != nil {
			how := "the live server has ended"
			process, ok := l.conn.(interface {
				Status() (transport.ExitStatus, error)
			})
			if err != io.EOF {
				how = fmt.Sprintf("the live server cannot be read from: %v", err)
			} else if ok && l.conn.Close() == nil {
				if status, err := process.Status(); err == nil {
					how += fmt.Sprintf(", exit %v", store.ExitInfoOf(status))
				}
			}
			l.fail(how, ctx.Err() == nil)
			return
		}
		l.serving.mu.Lock()
		l.serving.pass([]transport.Frame{l.router.fromLive(f, time.Since(l.start))})
		l.serving.mu.Unlock()
	}
}

// fail answers the requests in place of the live server, now and later. It says why unless Err
// does.
func (l *Live) fail(why string, say bool) {
	l.serving.mu.Lock()
	known := l.dead != "" || l.serving.ended
	if l.dead == "" {
		l.dead = why
	}
	l.queue = nil
	l.serving.pass(l.router.abandon(l.dead))
	l.serving.mu.Unlock()
	if !known && say {
		l.serving.say(why)
	}
}

func (l *Live) close() {
	if l.conn == nil {
		return
	}
	if err := l.conn.Close(); err != nil {
		l.err = errors.Join(l.err, fmt.Errorf("close the live server: %w", err))
	}
}

// liveRouter decides which frames go past a Player to a live server, and back. It is pure: the
// connections are the caller's.
type liveRouter struct {
	player    *Player
	handshake []transport.Frame           // of the live client, as the player has answered it
	open      map[mcp.Key]openRequest     // by id: the live server's answers to come
	asked     map[mcp.Key]json.RawMessage // the live server's requests under way: the server's id, by the client's
	tokens    map[mcp.Key]bool            // progress tokens of these requests
	taken     map[mcp.Key]bool            // ids of the recorded server's requests
	renamed   int                         // requests of the live server with another id
	renames   map[mcp.Key]json.RawMessage // the client's id of the latest renamed request, by the server's id
	added     []store.Event               // passed frames, with the live server's ids
}

// openRequest is a request under way.
type openRequest struct {
	id     json.RawMessage
	stream uint64
}

func newLiveRouter(player *Player) *liveRouter {
	r := &liveRouter{
		player: player, open: map[mcp.Key]openRequest{}, asked: map[mcp.Key]json.RawMessage{}, tokens: map[mcp.Key]bool{},
		taken: map[mcp.Key]bool{}, renames: map[mcp.Key]json.RawMessage{},
	}
	for _, f := range player.frames {
		for _, q := range f.requests {
			r.taken[mcp.KeyOf(q.msg().ID)] = true
		}
	}
	return r
}

// fromClient says where a frame of the client goes: to the player or to the live server. A
// batch with an unrecorded message goes to the live server whole. A frame for the live server
// with a placeholder of a secret goes nowhere, see refuse.
func (r *liveRouter) fromClient(f transport.Frame, at time.Duration) (toPlayer bool, toLive, toClient []transport.Frame) {
	messages := timeline.MessagesOf(f)
	if !slices.ContainsFunc(messages, r.isForLive) {
		for _, m := range messages {
			if m.Method == mcp.MethodInitialize || m.Method == mcp.NotificationInitialized {
				r.handshake = append(r.handshake, f)
			}
		}
		return true, nil, nil
	}
	if masks := match.Masks(f.Bytes); len(masks) > 0 {
		toLive, toClient = r.refuse(f, string(masks[0]), at)
		return false, toLive, toClient
	}
	for i, m := range messages {
		key := mcp.KeyOf(m.ID)
		switch m.Kind() {
		case transport.Request:
			r.open[key] = openRequest{bytes.Clone(m.ID), f.Stream}
		case transport.Response:
			if id := r.asked[key]; id != nil {
				delete(r.asked, key)
				f.Bytes, _ = match.Splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
		default:
			delete(r.open, mcp.KeyOf(timeline.CancelledID(m))) // the answer is not waited for any more
		}
	}
	r.add(transport.ClientToServer, f, at)
	return false, []transport.Frame{f}, nil
}

// isForLive reports whether a message of the client is for the live server.
func (r *liveRouter) isForLive(message transport.Message) bool {
	switch message.Kind() {
	case transport.Request:
		return !r.player.Knows(message)
	case transport.Response:
		return r.asked[mcp.KeyOf(message.ID)] != nil
	case transport.Notification:
		_, cancelled := r.open[mcp.KeyOf(timeline.CancelledID(message))]
		return cancelled || message.Method == mcp.NotificationProgress && r.tokens[mcp.KeyOf(message.ProgressToken())]
	}
	return false
}

// fromLive takes a frame of the live server and returns the frame for the client: a request
// gets another id where a recorded request has the same.
func (r *liveRouter) fromLive(f transport.Frame, at time.Duration) transport.Frame {
	r.add(transport.ServerToClient, f, at)
	for i, m := range timeline.MessagesOf(f) {
		key := mcp.KeyOf(m.ID)
		switch m.Kind() {
		case transport.Notification:
			if id := r.renames[mcp.KeyOf(timeline.CancelledID(m))]; id != nil {
				f.Bytes, _ = match.Splice(f.Bytes, id, append(within(f.Bytes, i), "params", mcp.MemberRequestID)...)
			}
		case transport.Response:
			if o, ok := r.open[key]; ok {
				f.Stream = o.stream
				delete(r.open, key)
			}
		case transport.Request:
			id := bytes.Clone(m.ID)
			if r.taken[key] {
				r.renamed++
				id = fmt.Appendf(nil, `"mcprec-live-%d"`, r.renamed)
				r.renames[key] = id
				f.Bytes, _ = match.Splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
			r.asked[mcp.KeyOf(id)] = bytes.Clone(m.ID)
			if token := m.ProgressToken(); token != nil {
				r.tokens[mcp.KeyOf(token)] = true
			}
		}
	}
	return f
}

func (r *liveRouter) add(dir transport.Direction, f transport.Frame, at time.Duration) {
	r.added = append(r.added, store.Event{At: at, Kind: store.Frame, Dir: dir, Payload: f.Bytes, Unterminated: f.Unterminated})
}

// abandon answers the requests under way in place of a live server that cannot. It also takes
// these requests out of the added events: a later replay would find no answer.
func (r *liveRouter) abandon(why string) []transport.Frame {
	isOpen := func(message transport.Message) bool {
		_, open := r.open[mcp.KeyOf(message.ID)]
		return open && message.Kind() == transport.Request
	}
	r.added = slices.DeleteFunc(r.added, func(event store.Event) bool {
		return event.Dir == transport.ClientToServer && slices.ContainsFunc(timeline.MessagesOf(event.AsFrame()), isOpen)
	})
	var frames []transport.Frame
	for _, key := range slices.Sorted(maps.Keys(r.open)) {
		o := r.open[key]
		frames = append(frames, answerTo(o.id, o.stream, missBody("not recorded, and "+why)))
	}
	clear(r.open)
	return frames
}

// refuse answers messages for the live server with a placeholder of a secret, known to the
// client from a recorded answer: a request is answered to the client, an answer of the client
// to the live server. The rest of the frame goes nowhere.
func (r *liveRouter) refuse(frame transport.Frame, mask string, at time.Duration) (toLive, toClient []transport.Frame) {
	for _, m := range timeline.MessagesOf(frame) {
		isAnswer := m.Kind() == transport.Response
		what := about(m)
		id := m.ID
		if isAnswer {
			what = "an answer"
			id = r.asked[mcp.KeyOf(m.ID)]
		}
		text := fmt.Sprintf("%s holds %s, which stands for a secret: it was not sent to the live server", what, mask)
		r.player.extra(what, text, true)
		if id == nil {
			continue
		}
		answer := answerTo(id, frame.Stream, missBody(text))
		if !isAnswer {
			toClient = append(toClient, answer)
			continue
		}
		toLive = append(toLive, answer)
		delete(r.asked, mcp.KeyOf(m.ID))
		r.add(transport.ClientToServer, answer, at)
	}
	return toLive, toClient
}
