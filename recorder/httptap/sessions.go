package httptap

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// linger is how long a session that is over must be silent before its recording ends. Clients
// wait less before they ask for a stream again.
const linger = 5 * time.Second

const (
	maxRecordings = 256 // open recordings: each has an open file
	maxEnding     = 128 // recordings that are being folded, still with an open file
)

// recording is the recording of one session, or of exchanges without one. The tap's lock
// guards its fields.
//
// An exchange with an MCP session id belongs to the recording of that session. An exchange
// without an id that may begin a session, an initialize or a GET of a stream, begins a
// recording. If the response has a session id, or names the endpoint of HTTP+SSE, the
// recording belongs to the new session. If not, it becomes the lobby, for the other exchanges
// without an id. While nothing but server/discover has succeeded in the lobby, an exchange
// that may begin a session takes the lobby over: a client that was refused, or learned which
// revisions the server speaks, tries again in another way.
//
// The recording of a session goes on for a while after the client has ended the session: the
// client may still respond, or ask for the stream again.
//
// The file is opened and sealed without the lock, so a slow disk holds up only exchanges of
// this recording.
type recording struct {
	*recorder.Recorder // nil until it is open
	opening            sync.Once
	closed             bool     // the tap was closed before the recording began
	beginning          []string // notes for the beginning
	parting            string   // a note for the end

	id        string
	endpoints []string
	streams   uint64    // how many exchanges it has
	open      int       // exchanges that have not ended
	used      uint64    // the tap's count of exchanges when the newest one began
	undecided *exchange // began the recording; set until the response shows the session
	answered  bool      // the server accepted a message
	stateless bool      // the server accepted one that begins no session with an id
	ending    bool      // its session is over
	lingers   *time.Timer
}

// start begins a recording. If too many are open, the recording with the longest idle time ends:
// few clients end their sessions. t.mu is held.
func (t *Tap) start() *recording {
	var idle *recording
	for rec := range t.all {
		if rec.open == 0 && (idle == nil || rec.ending && !idle.ending || rec.ending == idle.ending && rec.used < idle.used) {
			idle = rec
		}
	}
	if len(t.all) >= maxRecordings && idle != nil {
		if !idle.ending {
			idle.parting = "ended because other sessions need its place; what follows is in another recording"
		}
		t.end(idle)
	}
	rec := &recording{closed: t.closed}
	if !t.closed {
		t.all[rec] = true
	}
	return rec
}

// open opens the recording's file, once, without the lock.
func (t *Tap) open(rec *recording) {
	rec.opening.Do(func() {
		if rec.closed {
			rec.Recorder = recorder.Unrecorded(store.ErrClosed)
			return
		}
		rec.Recorder = t.o.Open(t.o.Header)
		for _, text := range rec.beginning {
			rec.note(text)
		}
	})
}

func (rec *recording) note(text string) {
	rec.Record(store.Note, transport.NoDirection, store.NoteInfo{Text: text})
}

// enter returns the recording of a new exchange, and the exchange's number there.
func (t *Tap) enter(exchange *exchange) (*recording, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.ending >= maxEnding && t.sessions[exchange.request.session] == nil { // it may begin another
		t.ended.Wait()
	}
	rec := t.recordingOf(exchange)
	t.exchanges++
	rec.used = t.exchanges
	t.live[exchange] = true
	rec.streams++
	rec.open++
	return rec, rec.streams
}

// recordingOf finds or begins the recording of a new exchange. t.mu is held.
func (t *Tap) recordingOf(exchange *exchange) *recording {
	q := &exchange.request
	switch rec := t.endpoints[q.path]; {
	case t.o.Together:
	case q.session != "":
		return t.recordingOfSession(q.session)
	case rec != nil && q.method != http.MethodGet: // a GET asks for a stream of its own
		return rec
	case t.o.Split:
		return t.start()
	case q.starts && (t.lobby == nil || !t.lobby.answered || q.method == http.MethodPost && !t.lobby.stateless):
		rec := t.lobby
		if rec == nil || rec.answered {
			rec = t.start()
		} else {
			t.lobby = nil
		}
		rec.undecided = exchange
		return rec
	}
	if t.lobby == nil {
		t.lobby = t.start()
	}
	return t.lobby
}

// recordingOfSession finds or begins the recording of a session id. t.mu is held.
func (t *Tap) recordingOfSession(id string) *recording {
	rec := t.sessions[id]
	if rec != nil {
		return rec
	}
	rec = t.start()
	note := fmt.Sprintf("begins in the middle: the beginning of MCP session %s was not seen", id)
	if before, known := t.past[id]; known {
		note = fmt.Sprintf("begins in the middle: the beginning of MCP session %s is in recording %s", id, before)
	}
	rec.beginning = append(rec.beginning, note)
	rec.id = id
	t.sessions[id] = rec
	return rec
}

// responded reads the head of a response, which may name the exchange's session.
func (t *Tap) responded(exchange *exchange, status int, header http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.o.Together {
		return
	}
	rec := exchange.rec
	id := header.Get(mcp.HeaderSessionID)
	accepted := status >= 200 && status < 300
	if accepted && exchange.request.method == http.MethodPost && !exchange.request.other && !exchange.request.probes {
		rec.answered = true
	}
	if accepted && exchange.request.method == http.MethodDelete && exchange.request.session != "" {
		rec.ending = true
	}
	switch {
	case id != "" && id != exchange.request.session && (t.sessions[id] == nil || t.sessions[id].ending):
		if rec.id != "" || rec.undecided != exchange && rec.streams > 1 {
			note := fmt.Sprintf("MCP session %s began in exchange %d of recording %s", id, exchange.number, rec.ID())
			rec = t.start()
			rec.beginning = append(rec.beginning, note)
		}
		rec.undecided = nil
		if t.lobby == rec {
			t.lobby = nil
		}
		rec.id = id
		t.sessions[id] = rec
	case rec.undecided != exchange:
	case exchange.stream: // it may name the endpoint of HTTP+SSE
	default:
		rec.stateless = accepted && exchange.request.method == http.MethodPost
		t.becomeLobby(rec)
	}
}

// becomeLobby makes a recording the lobby: its first exchange began no session.
func (t *Tap) becomeLobby(rec *recording) {
	rec.undecided = nil
	if t.lobby == nil && !t.o.Split {
		t.lobby = rec
	}
}

// findEndpoint looks for the endpoint of an HTTP+SSE session in the events of its stream, and
// binds the endpoint to the exchange's recording. The first endpoint counts.
func (t *Tap) findEndpoint(exchange *exchange, items []recorder.Item) {
	if !exchange.stream || exchange.named {
		return
	}
	for _, it := range items {
		if it.Info == nil || it.Info.SSE == nil || it.Info.SSE.Event != "endpoint" {
			continue
		}
		base, err := url.Parse(exchange.request.path)
		if err != nil {
			return
		}
		u, err := base.Parse(it.Info.Body)
		if err != nil {
			continue
		}
		exchange.named = true
		t.mu.Lock()
		defer t.mu.Unlock()
		t.name(u.Path)
		rec := exchange.rec
		endpoint := u.RequestURI()
		if rec.undecided == exchange {
			rec.undecided = nil
		}
		if t.lobby == rec && !t.o.Together { // the recording now belongs to the session alone
			t.lobby = nil
		}
		rec.endpoints = append(rec.endpoints, endpoint)
		t.endpoints[endpoint] = rec
		return
	}
}

// leave ends an exchange. A recording that can get no other exchange ends with its last one.
func (t *Tap) leave(exchange *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, exchange)
	rec := exchange.rec
	rec.open--
	if rec.undecided == exchange {
		t.becomeLobby(rec)
	}
	if exchange.named && !t.o.Together {
		rec.ending = true
	}
	reachable := rec.id != "" || rec.endpoints != nil || t.lobby == rec
	switch {
	case rec.open > 0:
	case !reachable:
		t.end(rec)
	case rec.ending:
		used := rec.used
		rec.lingers = time.AfterFunc(linger, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if rec.open == 0 && rec.used == used {
				t.end(rec)
			}
		})
	}
}

// end seals a recording and folds it into the store, in a goroutine of its own. t.mu is held.
func (t *Tap) end(rec *recording) {
	if !t.all[rec] {
		return
	}
	delete(t.all, rec)
	if rec.lingers != nil {
		rec.lingers.Stop()
	}
	current := t.sessions[rec.id] == rec
	if current {
		delete(t.sessions, rec.id)
	}
	for _, e := range rec.endpoints {
		if t.endpoints[e] == rec {
			delete(t.endpoints, e)
		}
	}
	if t.lobby == rec {
		t.lobby = nil
	}
	t.ending++
	t.closing.Go(func() {
		t.open(rec)
		if current { // requests of the session may still come
			t.mu.Lock()
			if len(t.past) >= maxRecordings {
				clear(t.past)
			}
			t.past[rec.id] = rec.ID()
			t.mu.Unlock()
		}
		if rec.parting != "" {
			rec.note(rec.parting)
		}
		sum := rec.Close()
		t.mu.Lock()
		t.ending--
		t.mu.Unlock()
		t.ended.Broadcast()
		if t.o.Done != nil {
			t.o.Done(sum)
		}
	})
}
