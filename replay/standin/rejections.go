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

// refusals are the recorded HTTP requests that the server refused for their form and not for
// their message: without a session id or with one that it never gave or that was deleted,
// with an Accept, a content type or a protocol version that it does not take, elsewhere than
// at the endpoint, by another method. No request of that form had any other answer. They
// belong to no session: every live request of the same form gets the same answer, and those
// with the same message take theirs from one queue in recorded order. None is waited for.
type refusals struct {
	rules    match.Rules
	paths    map[string]bool // recorded beside the endpoint's
	versions map[string]bool // that were refused
	stateful bool            // sessions have ids

	mu   sync.Mutex
	list []*refusal
}

// refusal is one of them.
type refusal struct {
	form     requestForm
	message  string
	exchange *exchange
	asked    int // of the requests that it answered, the last
}

// newRefusals finds the refusals of a recording.
func newRefusals(rules match.Rules, x *exchanges) *refusals {
	r := &refusals{rules: rules, paths: map[string]bool{}, versions: map[string]bool{}, stateful: x.hasSessions()}
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
	forms, taken := make([]requestForm, len(x.order)), map[requestForm]bool{}
	for i, ex := range x.order {
		s := requestForm{method: ex.method, session: ex.named, lost: ex.lost, routing: ex.misrouted, broken: ex.broken}
		forms[i] = r.see(s, pathOf(ex.path), ex.begins, ex.request)
		taken[forms[i]] = taken[forms[i]] || ex.isTaken()
	}
	for i, ex := range x.order {
		if s := forms[i]; ex.status != 0 && !s.isRegular() && !taken[s] && !(ex.streams && ex.messages > 0) {
			r.list = append(r.list, &refusal{form: s, message: r.message(s, ex.asked), exchange: ex})
		}
	}
	return r
}

// isTaken reports whether the server took the request in. The methods that MCP does
// not use ask for nothing that it could take.
func (ex *exchange) isTaken() bool {
	switch ex.method {
	case http.MethodGet:
		return ex.streams && !ex.lost
	case http.MethodPost, http.MethodDelete:
		return ex.status < 400
	}
	return false
}

// see completes a form.
func (r *refusals) see(s requestForm, path string, begins bool, h http.Header) requestForm {
	if s.session == streamable.SessionNone && (!r.stateful || begins) {
		s.session = streamable.SessionOpen // it need not name one
	}
	if r.paths[path] {
		s.path = path
	}
	if version := h.Get(mcp.HeaderProtocolVersion); r.versions[version] && s.session == streamable.SessionOpen {
		s.version = version
	}
	switch s.method {
	case http.MethodPost:
		s.accept = formsOf(h, mcp.MediaJSON, mcp.MediaEventStream)
		if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind != mcp.MediaJSON {
			s.content = strings.ToLower(h.Get("Content-Type")) + " "
		}
	case http.MethodGet:
		s.accept = formsOf(h, mcp.MediaEventStream)
	}
	return s
}

// message is what a POST says, in the form by which requests are compared.
func (r *refusals) message(s requestForm, body []byte) string {
	if s.method != http.MethodPost {
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

// screen answers a live request as the recorded one of its form was.
func (r *refusals) screen(a streamable.Attempt) (answer streamable.Answer, answered bool) {
	if len(r.list) == 0 {
		return answer, false
	}
	begins, broken, misrouted := readBody(a.Header, a.Body)
	s := r.see(requestForm{method: a.Method, session: a.Session, lost: a.Lost, broken: broken, routing: misrouted}, a.URL.Path, begins, a.Header)
	found := r.take(s, r.message(s, a.Body))
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

// take returns the refusal for a request: one of the same message if there is any, the first
// unused one, or else the one that was used last.
func (r *refusals) take(s requestForm, message string) *refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := 0
	for _, f := range r.list {
		latest = max(latest, f.asked)
	}
	rank := func(f *refusal) int {
		n := f.asked
		if n == 0 {
			n = latest + 1
		}
		if f.message == message {
			n += latest + 1
		}
		return n
	}
	var found *refusal
	for _, f := range r.list {
		fits := f.form == s && (f.message == message || s.method == http.MethodPost)
		if fits && (found == nil || rank(f) > rank(found)) {
			found = f
		}
	}
	if found != nil {
		found.asked = latest + 1
	}
	return found
}

// byNumber returns the refusals by their exchanges.
func (r *refusals) byNumber() map[uint64]*refusal {
	of := map[uint64]*refusal{}
	for _, f := range r.list {
		of[f.exchange.number] = f
	}
	return of
}

// spared are the events without those of the refusals.
func (r *refusals) spared(events []store.Event) []store.Event {
	if len(r.list) == 0 {
		return events
	}
	of := r.byNumber()
	return slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool {
		return of[e.Stream] != nil && (e.Kind == store.Frame || e.Kind == store.HTTP)
	})
}

// saidTo returns the server's answer to the recorded request as an answer to a live request:
// with the live id where the answer has the recorded id.
func (ex *exchange) saidTo(live []byte) []byte {
	id := func(b []byte) []byte {
		if messages := timeline.MessagesOf(transport.Frame{Bytes: b}); len(messages) == 1 {
			return messages[0].ID
		}
		return nil
	}
	if own, new := id(ex.asked), id(live); own != nil && new != nil && bytes.Equal(own, id(ex.said)) {
		if said, ok := match.Splice(ex.said, new, "id"); ok {
			return said
		}
	}
	return ex.said
}

// requestForm is everything besides its message for which a server may refuse an HTTP
// request. What is as the specification has it is left out: two clients that both ask as
// they should have the same.
type requestForm struct {
	method  string
	session streamable.SessionState
	path    string // where it is not the endpoint's
	lost    bool   // goes on after an event that was never given
	accept  string // where a form is missing in which the answer may come: those there are
	content string // of a body that is called something else than JSON
	broken  bool   // a body that is none
	version string // where it is not the session's
	routing string // headers that say otherwise than the message
}

// isRegular reports whether a client of MCP makes such requests.
func (s requestForm) isRegular() bool {
	switch s.method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return s == requestForm{method: s.method}
	}
	return false
}

// formsOf returns which of the wanted forms a request accepts; "": all.
func formsOf(h http.Header, wanted ...string) string {
	accepted := h.Values("Accept")
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

// readBody reports whether a client's body begins a session, whether it is not JSON, and
// which headers contradict it.
func readBody(h http.Header, body []byte) (begins, broken bool, misrouted string) {
	messages, err := transport.Frame{Bytes: body}.Messages()
	begins = slices.ContainsFunc(messages, func(m transport.Message) bool {
		return m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover
	})
	return begins, err != nil && len(body) > 0, misroutedBy(h, messages)
}

// misroutedBy returns the headers that are not those by which the message is routed.
func misroutedBy(h http.Header, messages []transport.Message) string {
	if len(messages) != 1 || messages[0].Method == "" {
		return ""
	}
	want := http.Header{}
	streamable.Route(want, messages[0], "")
	if want.Get(mcp.HeaderMethod) == "" {
		return "" // of a revision without them
	}
	var wrong []string
	for _, name := range []string{mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName} {
		if want.Get(name) != h.Get(name) {
			wrong = append(wrong, name+" "+h.Get(name))
		}
	}
	return strings.Join(wrong, ", ")
}

// pathOf returns the path of a request target without its query.
func pathOf(target string) string {
	if u, err := url.Parse(target); err == nil {
		return u.Path
	}
	return target
}
