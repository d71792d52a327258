package standin

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// rejections are the recorded HTTP requests refused for the form and not for the message:
// without a session id, or with an id that the server never gave or had deleted; with an
// Accept, a content type or a protocol version unknown to the server; elsewhere than at the
// endpoint; by another method. No request of the same form had any other answer.
//
// A rejection belongs to no session: every live request of the same form gets the same answer,
// and requests with the same message take the answers from one queue in recorded order. No
// player waits for such a request.
type rejections struct {
	rules    match.Rules
	paths    map[string]bool // recorded paths beside the endpoint's
	versions map[string]bool // refused protocol versions
	stateful bool            // sessions have ids

	mu    sync.Mutex
	list  []*rejection
	asked int // live requests answered
}

// rejection is a request refused for the form.
type rejection struct {
	form     requestForm
	message  string
	exchange *exchange
	asked    int // number of the last answered live request, from 1
}

// requestForm is the part of an HTTP request, besides its message, for which a server may
// refuse the request. A part in accordance with the specification is left out: two clients
// that both ask properly have the same form.
type requestForm struct {
	method  string
	session streamable.SessionState
	path    string // if not the endpoint's
	lost    bool   // goes on after an event unknown to the server
	accept  string // the accepted forms, if any form of an answer is missing
	content string // of a body not declared as JSON
	broken  bool   // the body is not JSON
	version string // if not the session's
	routing string // headers that contradict the message
}

// newRejections finds the rejections of a recording.
func newRejections(rules match.Rules, x *exchanges) *rejections {
	r := &rejections{rules: rules, paths: map[string]bool{}, versions: map[string]bool{}, stateful: x.hasSessions()}
	if x.legacy {
		return r
	}
	main := x.mainPath()
	for _, ex := range x.order {
		if path := pathOf(ex.path); path != main {
			r.paths[path] = true
		}
		version := ex.request.Get(mcp.HeaderProtocolVersion)
		if ex.status == http.StatusBadRequest && ex.session != "" && version != "" && version != x.versions[ex.session] {
			r.versions[version] = true
		}
	}
	methods := []string{http.MethodPost, http.MethodGet, http.MethodDelete} // of MCP; the server takes in no other
	forms := make([]requestForm, len(x.order))
	taken := map[requestForm]bool{}
	for i, ex := range x.order {
		form := requestForm{method: ex.method, session: ex.named, lost: ex.lost, routing: ex.misrouted, broken: ex.broken}
		forms[i] = r.complete(form, pathOf(ex.path), ex.begins, ex.request)
		isTaken := slices.Contains(methods, ex.method) && ex.status < 400
		if ex.method == http.MethodGet {
			isTaken = ex.streams && !ex.lost
		}
		taken[forms[i]] = taken[forms[i]] || isTaken
	}
	for i, ex := range x.order {
		form := forms[i]
		isRegular := slices.Contains(methods, form.method) && form == requestForm{method: form.method}
		if ex.status != 0 && !isRegular && !taken[form] && !(ex.streams && ex.messages > 0) {
			r.list = append(r.list, &rejection{form: form, message: r.message(form, ex.asked), exchange: ex})
		}
	}
	return r
}

// complete adds to a form the parts from the path and the headers.
func (r *rejections) complete(form requestForm, path string, begins bool, header http.Header) requestForm {
	if form.session == streamable.SessionNone && (!r.stateful || begins) {
		form.session = streamable.SessionOpen // no session need be named
	}
	if r.paths[path] {
		form.path = path
	}
	if version := header.Get(mcp.HeaderProtocolVersion); r.versions[version] && form.session == streamable.SessionOpen {
		form.version = version
	}
	switch form.method {
	case http.MethodPost:
		form.accept = formsOf(header, mcp.MediaJSON, mcp.MediaEventStream)
		if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind != mcp.MediaJSON {
			form.content = strings.ToLower(header.Get("Content-Type")) + " "
		}
	case http.MethodGet:
		form.accept = formsOf(header, mcp.MediaEventStream)
	}
	return form
}

// message returns the message of a POST in the spelling by which requests are compared.
func (r *rejections) message(form requestForm, body []byte) string {
	if form.method != http.MethodPost {
		return ""
	}
	var keys []byte
	messages, err := transport.Frame{Bytes: body}.Messages()
	if err != nil {
		return string(body)
	}
	for _, m := range messages {
		key, err := r.rules.Key(m)
		if err != nil || m.Method == "" {
			return string(body)
		}
		keys = append(append(keys, key...), '\n')
	}
	return string(keys)
}

// screen answers a live request as the recorded request of the same form.
func (r *rejections) screen(a streamable.Attempt) (answer streamable.Answer, answered bool) {
	if len(r.list) == 0 {
		return answer, false
	}
	begins, broken, misrouted := readBody(a.Header, a.Body)
	form := requestForm{method: a.Method, session: a.Session, lost: a.Lost, broken: broken, routing: misrouted}
	form = r.complete(form, a.URL.Path, begins, a.Header)
	found := r.take(form, r.message(form, a.Body))
	if found == nil {
		return answer, false
	}
	answer = found.exchange.answer()
	if !answer.Plain && answer.Form != streamable.StreamForm {
		answer.Plain, answer.Body = true, found.exchange.saidTo(a.Body)
		answer.Header["Content-Type"] = found.exchange.header["Content-Type"]
	}
	return answer, true
}

// take returns the rejection for a request: one with the same message if there is any, the
// first unused rejection, or the last used.
func (r *rejections) take(form requestForm, message string) *rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	rank := func(rejection *rejection) int {
		n := rejection.asked
		if n == 0 {
			n = r.asked + 1
		}
		if rejection.message == message {
			n += r.asked + 1
		}
		return n
	}
	var found *rejection
	for _, f := range r.list {
		fits := f.form == form && (f.message == message || form.method == http.MethodPost)
		if fits && (found == nil || rank(f) > rank(found)) {
			found = f
		}
	}
	if found != nil {
		r.asked++
		found.asked = r.asked
	}
	return found
}

// byNumber returns the rejections by number of exchange.
func (r *rejections) byNumber() map[uint64]*rejection {
	m := map[uint64]*rejection{}
	for _, f := range r.list {
		m[f.exchange.number] = f
	}
	return m
}

// spared returns the events without the rejections.
func (r *rejections) spared(events []store.Event) []store.Event {
	rejected := r.byNumber()
	return slices.DeleteFunc(slices.Clone(events), func(event store.Event) bool {
		return rejected[event.Stream] != nil && (event.Kind == store.Frame || event.Kind == store.HTTP)
	})
}

// saidTo returns the server's answer to the recorded request as an answer to a live request:
// with the live id in place of the recorded id.
func (ex *exchange) saidTo(live []byte) []byte {
	idOf := func(data []byte) []byte {
		if messages := timeline.MessagesOf(transport.Frame{Bytes: data}); len(messages) == 1 {
			return messages[0].ID
		}
		return nil
	}
	recorded := idOf(ex.asked)
	id := idOf(live)
	if recorded != nil && id != nil && bytes.Equal(recorded, idOf(ex.said)) {
		if said, ok := match.Splice(ex.said, id, "id"); ok {
			return said
		}
	}
	return ex.said
}

// formsOf names the wanted media types accepted by a request; "": every type.
func formsOf(header http.Header, wanted ...string) string {
	accepted := header.Values("Accept")
	var have []string
	for _, form := range wanted {
		group, _, _ := strings.Cut(form, "/")
		if slices.ContainsFunc(strings.Split(strings.Join(accepted, ","), ","), func(part string) bool {
			kind, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), ";")
			return kind == form || kind == "*/*" || kind == group+"/*"
		}) {
			have = append(have, form)
		}
	}
	switch {
	case len(have) == len(wanted):
		return ""
	case len(accepted) == 0:
		return "unsaid"
	}
	return "only " + strings.Join(have, " ")
}

// readBody reports whether a client's body begins a session, whether the body is not JSON, and
// which headers contradict the message.
func readBody(header http.Header, body []byte) (begins, broken bool, misrouted string) {
	messages, err := transport.Frame{Bytes: body}.Messages()
	begins = slices.ContainsFunc(messages, func(message transport.Message) bool {
		return message.Method == mcp.MethodInitialize || message.Method == mcp.MethodDiscover
	})
	broken = err != nil && len(body) > 0
	if len(messages) != 1 || messages[0].Method == "" {
		return begins, broken, ""
	}
	want := http.Header{}
	streamable.Route(want, messages[0], "")
	if want.Get(mcp.HeaderMethod) == "" {
		return begins, broken, "" // of a revision without routing headers
	}
	var wrong []string
	for _, name := range []string{mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName} {
		if want.Get(name) != header.Get(name) {
			wrong = append(wrong, name+" "+header.Get(name))
		}
	}
	return begins, broken, strings.Join(wrong, ", ")
}

// pathOf returns the path of a request target without its query.
func pathOf(target string) string {
	if u, err := url.Parse(target); err == nil {
		return u.Path
	}
	return target
}
