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

// recording is the recording of one session, or of exchanges without one. The tap's lock
// guards its fields.
//
// An exchange with an MCP session id belongs to the recording of that session. An exchange
// without an id that may begin a session, an initialize or a GET of a stream, begins a
// recording. If the response has a session id, or names the endpoint of HTTP+SSE, the
// recording is that session's. If not, it becomes the lobby, which has all other exchanges
// without an id. While nothing but server/discover has succeeded in the lobby, an exchange
// that may begin a session takes it over: a client that was refused, or learned what the
// server speaks, tries again in another way.
//
// The recording of a session that its client has ended goes on for a while: the client may
// answer, or ask for its stream again, just after that.
//
// The file is opened and sealed without the lock, so a slow disk holds up only exchanges of
// this recording.
type recording struct {
	*recorder.Recorder // nil until it is open
	opening            sync.Once
	closed             bool     // the tap was closed before the recording began
	beginning          []string // notes for its beginning
	parting            string   // a note for its end

	id        string
	endpoints []string
	streams   uint64    // how many exchanges it has
	open      int       // exchanges that have not ended
	used      uint64    // the tap's count of exchanges when the newest one began
	undecided *exchange // the one that began it, until its response shows what it is
	answered  bool      // the server accepted a message
	stateless bool      // the server accepted one that may begin a session, and gave no id
	ending    bool      // its session is over
	lingers   *time.Timer
}

// start begins a recording, with the lock held. If too many are open, the one that has rested
// the longest ends: few clients say when their sessions end.
func (t *Tap) start() *recording {
	var resting *recording
	for rec := range t.all {
		if rec.open == 0 && (resting == nil || rec.ending && !resting.ending || rec.ending == resting.ending && rec.used < resting.used) {
			resting = rec
		}
	}
	if len(t.all) >= maxRecordings && resting != nil {
		if !resting.ending {
			resting.parting = "ended because other sessions need its place; what follows is in another recording"
		}
		t.finish(resting)
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

// linger is how long a session that is over must be silent before its recording ends. Clients
// wait for less before they ask for a stream again.
const linger = 5 * time.Second

const (
	maxRecordings = 256 // recordings that are open: each has an open file
	maxEnding     = 128 // recordings that are being folded, and still have theirs
)

// enter returns the recording of a new exchange, and the exchange's number there.
func (t *Tap) enter(x *exchange) (*recording, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.ending >= maxEnding && t.sessions[x.ask.session] == nil { // it may begin another
		t.ended.Wait()
	}
	rec := t.recordingOf(x)
	t.exchanges++
	rec.used = t.exchanges
	t.live[x] = true
	rec.streams++
	rec.open++
	return rec, rec.streams
}

func (t *Tap) recordingOf(x *exchange) *recording {
	q := &x.ask
	if t.o.Together {
		if t.lobby == nil {
			t.lobby = t.start()
		}
		return t.lobby
	}
	if q.session != "" {
		return t.sessionOf(q.session)
	}
	if rec := t.endpoints[q.path]; rec != nil && q.method != http.MethodGet { // a GET asks for a stream of its own
		return rec
	}
	if t.o.Split {
		return t.start()
	}
	if q.starts && (t.lobby == nil || !t.lobby.answered || q.method == http.MethodPost && !t.lobby.stateless) {
		rec := t.lobby
		if rec == nil || rec.answered {
			rec = t.start()
		} else {
			t.lobby = nil
		}
		rec.undecided = x
		return rec
	}
	if t.lobby == nil {
		t.lobby = t.start()
	}
	return t.lobby
}

// sessionOf returns the recording of a session id.
func (t *Tap) sessionOf(id string) *recording {
	rec := t.sessions[id]
	if rec == nil {
		rec = t.start()
		if before, known := t.past[id]; known {
			rec.begins("begins in the middle: the beginning of MCP session %s is in recording %s", id, before)
		} else {
			rec.begins("begins in the middle: the beginning of MCP session %s was not seen", id)
		}
		t.bind(rec, id)
	}
	return rec
}

func (t *Tap) bind(rec *recording, id string) {
	rec.id = id
	t.sessions[id] = rec
}

// begins adds a note for the beginning of a recording that is not open yet.
func (rec *recording) begins(format string, args ...any) {
	rec.beginning = append(rec.beginning, fmt.Sprintf(format, args...))
}

func (rec *recording) note(text string) {
	rec.Record(store.Note, transport.NoDirection, map[string]string{"text": text})
}

// answered reads the head of a response, which may name the exchange's session.
func (t *Tap) answered(x *exchange, status int, h http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.o.Together {
		return
	}
	rec, id := x.rec, h.Get(mcp.HeaderSessionID)
	taken := status >= 200 && status < 300
	if taken && x.ask.method == http.MethodPost && !x.ask.other && !x.ask.probes {
		rec.answered = true
	}
	if taken && x.ask.method == http.MethodDelete && x.ask.session != "" {
		rec.ending = true
	}
	switch {
	case id != "" && id != x.ask.session && (t.sessions[id] == nil || t.sessions[id].ending):
		t.found(x, id)
	case rec.undecided != x:
	case x.stream: // it may name the endpoint of HTTP+SSE
	default:
		rec.stateless = taken && x.ask.method == http.MethodPost
		t.decline(rec)
	}
}

// found makes the exchange's recording that of a session, or begins another one for it.
func (t *Tap) found(x *exchange, id string) {
	rec := x.rec
	if rec.id != "" || rec.undecided != x && rec.streams > 1 {
		number, in := x.number, rec.ID()
		rec = t.start()
		rec.begins("MCP session %s began in exchange %d of recording %s", id, number, in)
	}
	if rec.undecided = nil; t.lobby == rec {
		t.lobby = nil
	}
	t.bind(rec, id)
}

// decline makes a recording the lobby: its first exchange began no session.
func (t *Tap) decline(rec *recording) {
	if rec.undecided = nil; t.lobby == nil && !t.o.Split {
		t.lobby = rec
	}
}

// learn finds the endpoint of an HTTP+SSE session in the events of its stream. Only the first
// event that names one counts.
func (t *Tap) learn(x *exchange, items []recorder.Item) {
	if !x.stream || x.named {
		return
	}
	for _, it := range items {
		if it.Info == nil || it.Info.SSE == nil || it.Info.SSE.Event != "endpoint" {
			continue
		}
		if base, err := url.Parse(x.ask.path); err == nil {
			if u, err := base.Parse(it.Info.Body); err == nil {
				x.named = true
				t.serve(x, u.RequestURI())
				return
			}
		}
	}
}

// serve makes the exchange's recording that of an endpoint.
func (t *Tap) serve(x *exchange, endpoint string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.rec.undecided == x {
		x.rec.undecided = nil
	}
	if t.lobby == x.rec && !t.o.Together { // from now on it belongs to this session alone
		t.lobby = nil
	}
	x.rec.endpoints = append(x.rec.endpoints, endpoint)
	t.endpoints[endpoint] = x.rec
}

// leave ends an exchange. A recording that can get no other exchange ends with its last one.
func (t *Tap) leave(x *exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, x)
	rec := x.rec
	if rec.open--; rec.undecided == x {
		t.decline(rec)
	}
	if x.named && !t.o.Together {
		rec.ending = true
	}
	reached := rec.id != "" || rec.endpoints != nil || t.lobby == rec
	switch {
	case rec.open > 0:
	case !reached:
		t.finish(rec)
	case rec.ending:
		used := rec.used
		rec.lingers = time.AfterFunc(linger, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if rec.open == 0 && rec.used == used {
				t.finish(rec)
			}
		})
	}
}

// finish seals a recording and folds it into the store, in a goroutine of its own.
func (t *Tap) finish(rec *recording) {
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
		if current {
			t.remember(rec)
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

// remember keeps the id of a session's recording, for requests that may still come.
func (t *Tap) remember(rec *recording) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.past) >= maxRecordings {
		clear(t.past)
	}
	t.past[rec.id] = rec.ID()
}
