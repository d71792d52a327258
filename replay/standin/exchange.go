package standin

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// messagesIn yields the messages of a recording and their directions.
func messagesIn(events []store.Event) iter.Seq2[transport.Direction, transport.Message] {
	return func(yield func(transport.Direction, transport.Message) bool) {
		for _, e := range events {
			if e.Kind != store.Frame {
				continue
			}
			for _, m := range timeline.MessagesOf(e.AsFrame()) {
				if !yield(e.Dir, m) {
					return
				}
			}
		}
	}
}

// exchange is a recorded HTTP request and the response.
type exchange struct {
	number  uint64
	method  string
	path    string
	at      time.Duration           // of the request
	session string                  // the MCP session id, of the request or given by the response
	named   streamable.SessionState // state of the session named by the request
	unknown string                  // an id of no session in the request
	resumes string                  // the id of the event after which the exchange goes on
	lost    bool                    // no recorded event has the id
	request http.Header
	asked   []byte // the body of a refused request

	speaks    bool   // the body is a frame
	begins    bool   // the message begins a session, so that it need name none
	broken    bool   // the body is no message
	misrouted string // headers that contradict the body

	other       bool   // not MCP's
	initialized bool   // the client says that it is
	status      int    // 0: there was no response
	head        uint64 // Seq of the response's head
	header      http.Header
	body        []byte
	said        []byte // the last message of a server that refused the request
	streams     bool   // the response is a stream of events

	messages int // of the server
	after    int // of these, messages after the last JSON-RPC response
	replied  bool
	ids      bool // the events have ids
	empty    bool // the last event had no message
	primed   bool // the first event had an id and no message
	retry    string
	ended    bool   // to the regular end
	none     bool   // no response came
	unheard  bool   // the request did not reach the server
	hungUp   uint64 // Seq at which the client hung up, or 0
	resumed  bool   // another exchange went on with the response

	// How long a client waits for the response to begin before it does anything else; 0: it
	// does not wait.
	patience time.Duration
}

// exchanges are the HTTP exchanges of a recording.
type exchanges struct {
	byNumber map[uint64]*exchange
	order    []*exchange
	legacy   bool              // HTTP+SSE
	events   map[string]uint64 // the exchange of the event with an id
	given    map[string]bool   // session ids given by the server; false: deleted
	versions map[string]string // protocol revisions, by session
	origin   map[uint64]uint64 // of an exchange that goes on with another: the first in the chain
}

// exchangesOf folds the HTTP events of a session.
func exchangesOf(events []store.Event) *exchanges {
	x := &exchanges{
		byNumber: map[uint64]*exchange{}, events: map[string]uint64{}, origin: map[uint64]uint64{},
		given: map[string]bool{}, versions: map[string]string{},
	}
	for _, e := range events {
		switch {
		case e.Stream == 0:
		case e.Kind == store.HTTP:
			if info, err := store.DecodePayload[store.HTTPInfo](e); err == nil {
				x.apply(e, info)
			}
		case e.Kind == store.Frame && x.byNumber[e.Stream] != nil:
			x.frame(x.byNumber[e.Stream], e)
		}
	}
	if len(x.order) > 0 {
		x.noteWait(x.order[len(x.order)-1], events[len(events)-1].At, false)
	}
	// An unknown id is a session's if the server took in a request with the id, wherever the
	// client had the id from. The others name no session.
	taken := map[string]bool{}
	for _, ex := range x.order {
		if ex.named == streamable.SessionUnknown && ex.status > 0 && ex.status < 400 {
			taken[ex.session] = true
		}
	}
	for _, ex := range x.order {
		switch {
		case ex.named != streamable.SessionUnknown:
		case taken[ex.session]:
			ex.named = streamable.SessionOpen
		case !x.given[ex.session]: // or the response gave the id, by chance
			ex.unknown = ex.session
			ex.session = ""
		}
	}
	return x
}

// apply takes an HTTP event.
func (x *exchanges) apply(event store.Event, info store.HTTPInfo) {
	ex := x.byNumber[event.Stream]
	if ex == nil {
		ex = &exchange{number: event.Stream}
		x.byNumber[ex.number] = ex
		x.order = append(x.order, ex)
	}
	h := http.Header(info.Header)
	if id := h.Get(mcp.HeaderSessionID); id != "" {
		ex.session = id
	}
	switch info.What {
	case store.HTTPRequest:
		ex.method, ex.path, ex.at, ex.request = info.Method, info.Path, event.At, h
		ex.other = info.Other
		open, given := x.given[ex.session]
		switch {
		case ex.session == "":
			ex.named = streamable.SessionNone
		case open:
			ex.named = streamable.SessionOpen
		case given:
			ex.named = streamable.SessionEnded
		default: // or the recording began after the session did
			ex.named = streamable.SessionUnknown
		}
		ex.resumes = h.Get(mcp.HeaderLastEventID)
		if from, known := x.events[ex.resumes]; ex.resumes != "" && known {
			from = x.first(from)
			x.origin[ex.number] = from
			x.byNumber[from].resumed = true
		} else {
			ex.lost = ex.resumes != ""
		}
	case store.HTTPResponse:
		ex.status = info.Status
		ex.header = h
		ex.head = event.Seq
		x.noteWait(ex, event.At, true)
		ex.streams = strings.HasPrefix(h.Get("Content-Type"), mcp.MediaEventStream)
		if !ex.speaks {
			ex.ask(ex.asked)
		}
		if ex.status < 400 {
			ex.asked = nil
		}
		if id := h.Get(mcp.HeaderSessionID); id != "" {
			x.given[id] = true
		}
		if ex.method == http.MethodDelete && ex.status < 300 && ex.named == streamable.SessionOpen {
			x.given[ex.session] = false
		}
	case store.HTTPEvent:
		if s := info.SSE; s != nil {
			x.legacy = x.legacy || s.Event == "endpoint"
			ex.primed = ex.isPrimed()
			ex.empty = s.Frame == 0
			if s.ID != "" {
				x.events[s.ID] = ex.number
				ex.ids = true
			}
			if s.Retry != "" {
				ex.retry = s.Retry
			}
		}
		return
	case store.HTTPEnd:
		ex.ended = true
	case store.HTTPNone:
		ex.none = true
		x.noteWait(ex, event.At, true)
		ex.unheard = strings.Contains(info.Error, "connection refused") || strings.Contains(info.Error, "dial tcp")
	case store.HTTPAbort:
		ex.hungUp = event.Seq
		x.noteWait(ex, event.At, false)
	}
	if event.Dir == transport.ClientToServer {
		ex.asked = append(append(ex.asked, info.Body...), info.Body64...)
	} else {
		ex.body = append(append(ex.body, info.Body...), info.Body64...)
	}
}

// noteWait notes how long the client waited for the response to an exchange: until it began or
// failed, or until the client hung up or ended. A client that goes on earlier can overtake its
// own request on another connection, or cancel the request before it is sent.
func (x *exchanges) noteWait(ex *exchange, until time.Duration, begun bool) {
	waited := until - ex.at
	switch {
	case x.order[len(x.order)-1] != ex: // the client made another request meanwhile
	case begun:
		ex.patience = defaultPatience + 2*waited
	case ex.status == 0 && !ex.none:
		ex.patience = min(waited, defaultPatience)
	}
}

// ask takes the body of the request.
func (ex *exchange) ask(body []byte) {
	ex.asked = body
	ex.begins, ex.broken, ex.misrouted = readBody(ex.request, body)
}

// isPrimed reports whether the response began with an event that gives the client an id to
// come back to, and no message.
func (ex *exchange) isPrimed() bool { return ex.primed || ex.empty && ex.ids && ex.messages == 0 }

// frame takes a frame of the exchange.
func (x *exchanges) frame(ex *exchange, event store.Event) {
	if event.Dir == transport.ClientToServer {
		ex.initialized = bytes.Contains(event.Payload, []byte(`"`+mcp.NotificationInitialized+`"`))
		ex.speaks = true
		ex.ask(event.Payload)
		return
	}
	if ex.status >= 400 {
		ex.said = event.Payload
	}
	messages := timeline.MessagesOf(event.AsFrame())
	if bytes.Contains(event.Payload, []byte(`"protocolVersion"`)) && x.versions[ex.session] == "" {
		for _, m := range messages {
			x.versions[ex.session], _ = transport.Text(transport.Member(m.Result, mcp.MemberProtocolVersion))
		}
	}
	if ex.isBody() {
		ex.body = append(ex.body, event.Payload...)
		return
	}
	ex.messages++
	ex.empty = false
	if x.order[len(x.order)-1] == ex { // a Driver waits for the message
		ex.patience = 0
	}
	if slices.ContainsFunc(messages, func(message transport.Message) bool { return message.Kind() == transport.Response }) {
		ex.replied = true
		ex.after = 0
	} else if ex.replied {
		ex.after++
	}
}

// isBody reports whether the server's messages in the exchange answer no message, such as the
// error with which a stream is refused.
func (ex *exchange) isBody() bool { return ex.method != http.MethodPost && !ex.streams }

// spoken returns the events without the messages that are part of a response to no message.
func (x *exchanges) spoken(events []store.Event) []store.Event {
	return slices.DeleteFunc(slices.Clone(events), func(event store.Event) bool {
		ex := x.byNumber[event.Stream]
		return event.Kind == store.Frame && event.Dir == transport.ServerToClient && ex != nil && ex.isBody()
	})
}

// isRefused reports whether an HTTP status answers the requests of the exchange.
func (x *exchanges) isRefused(number uint64) bool {
	ex := x.byNumber[number]
	return ex != nil && ex.status >= http.StatusMultipleChoices
}

// isUnheard reports whether the request of the exchange did not reach the server.
func (x *exchanges) isUnheard(number uint64) bool {
	ex := x.byNumber[number]
	return ex != nil && ex.unheard
}

// Unstreamed returns, of a session recorded over HTTP, the client's messages that failed in a
// way that one stream, such as stdio, cannot repeat: as "#3 401" or "#5 no response".
func Unstreamed(events []store.Event) (list []string) {
	x := exchangesOf(events)
	refused := x.unstreamed()
	for _, e := range events {
		if e.Kind == store.Frame && e.Dir == transport.ClientToServer && refused[e.Stream] {
			how := "no response"
			if status := x.byNumber[e.Stream].status; status != 0 {
				how = strconv.Itoa(status)
			}
			list = append(list, fmt.Sprintf("#%d %s", e.Seq, how))
		}
	}
	return list
}

// unstreamed returns the exchanges that one stream cannot repeat: no response came, or the
// server refused the request for the HTTP form, or by a status and no message that names a
// request.
func (x *exchanges) unstreamed() map[uint64]bool {
	set := map[uint64]bool{}
	for number := range newRejections(match.Rules{}, x).byNumber() {
		set[number] = true
	}
	for _, ex := range x.order {
		if ex.none || x.isRefused(ex.number) && !ex.namesRequest() {
			set[ex.number] = true
		}
	}
	return set
}

// namesRequest reports whether the message with which the server refused has an id.
func (ex *exchange) namesRequest() bool {
	return slices.ContainsFunc(timeline.MessagesOf(transport.Frame{Bytes: ex.said}), func(m transport.Message) bool { return len(m.ID) > 0 && string(m.ID) != "null" })
}

// answer returns the form of the recorded response, for a server that responds as recorded.
func (ex *exchange) answer() streamable.Answer {
	a := streamable.Answer{Status: ex.status, None: ex.none && ex.method == http.MethodPost}
	if ex.status == 0 {
		return a
	}
	a.Header = http.Header{}
	repeat := func(names ...string) {
		for _, name := range names {
			if values := ex.header[name]; len(values) > 0 {
				a.Header[name] = values
			}
		}
	}
	repeat("Allow", "Retry-After", "Www-Authenticate")
	switch {
	case ex.streams:
		a.Form, a.IDs, a.Primed, a.Retry, a.After = streamable.StreamForm, ex.ids, ex.isPrimed(), ex.retry, ex.after
		a.Cut = ex.resumed && ex.hungUp == 0
		a.CutAfter = ex.messages
		a.Broken = !ex.ended
	case ex.messages > 0:
		a.Form = streamable.JSONForm
	default:
		a.Plain = true
		a.Body = ex.body
		repeat("Content-Type")
	}
	return a
}

// expected returns the answers to requests of other methods than POST.
func (x *exchanges) expected() map[string][]streamable.Answer {
	m := map[string][]streamable.Answer{}
	for _, ex := range x.order {
		if ex.method != http.MethodPost && ex.resumes == "" {
			m[ex.method] = append(m[ex.method], ex.answer())
		}
	}
	return m
}

// first returns the exchange that an exchange goes on with, or the exchange itself.
func (x *exchanges) first(number uint64) uint64 {
	if from, ok := x.origin[number]; ok {
		return from
	}
	return number
}

// hasSessions reports whether the recorded server gave out session ids.
func (x *exchanges) hasSessions() bool {
	return x.legacy || slices.ContainsFunc(x.order, func(ex *exchange) bool { return ex.session != "" })
}

// lastSession returns the session id that was used last; "": there is none.
func (x *exchanges) lastSession() string {
	if len(x.order) == 0 {
		return ""
	}
	return x.sessions()[x.order[len(x.order)-1].number]
}

// sessions returns the session id of each exchange. An exchange without an id, such as a
// refused handshake, belongs to the next session to begin, or to the last session.
func (x *exchanges) sessions() map[uint64]string {
	ids := map[uint64]string{}
	var waiting []uint64
	id := ""
	for _, ex := range x.order {
		waiting = append(waiting, ex.number)
		if ex.session == "" {
			continue
		}
		for id = ex.session; len(waiting) > 0; waiting = waiting[1:] {
			ids[waiting[0]] = id
		}
	}
	for _, number := range waiting {
		ids[number] = id
	}
	return ids
}

// split cuts a recording into sessions, in the order in which they began.
func (x *exchanges) split(events []store.Event) [][]store.Event {
	ids := x.sessions()
	index := map[string]int{}
	for _, ex := range x.order {
		if _, known := index[ids[ex.number]]; !known {
			index[ids[ex.number]] = len(index)
		}
	}
	parts := make([][]store.Event, max(1, len(index)))
	for _, e := range events {
		switch e.Kind {
		case store.Frame, store.HTTP:
			part := index[ids[e.Stream]]
			parts[part] = append(parts[part], e)
		default:
			for i := range parts {
				parts[i] = append(parts[i], e)
			}
		}
	}
	return parts
}

// mainPath returns the path of the endpoint: of the first successful POST, or of the first.
func (x *exchanges) mainPath() string {
	first := ""
	for _, ex := range x.order {
		if ex.method != http.MethodPost || ex.other {
			continue
		}
		path := pathOf(ex.path)
		if ex.status > 0 && ex.status < 400 {
			return path
		}
		first = cmp.Or(first, path)
	}
	return first
}

// isRawRequest reports whether the request of an exchange has no message, was refused, and is
// no request that every client makes, as the GET for the stream of a session is: it has
// another method than POST, or a body that is no frame. A Driver leaves the request out; see
// [RawRequester].
func (x *exchanges) isRawRequest(number uint64) bool {
	ex := x.byNumber[number]
	switch {
	case ex == nil || ex.streams:
		return false
	case ex.method == http.MethodPost:
		return !ex.speaks && ex.status >= 400
	case ex.method != http.MethodGet || x.hasSessions() && ex.named != streamable.SessionOpen:
		return true
	}
	return slices.ContainsFunc(x.order, func(other *exchange) bool {
		return other.method == http.MethodGet && other.number < ex.number && other.session == ex.session
	})
}
