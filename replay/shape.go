package replay

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// shape is what of an HTTP request, besides its message, a server may refuse it for.
// Of what is as the specification has it nothing is in a shape: two clients that both
// ask as they should have the same.
type shape struct {
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
func (s shape) isRegular() bool {
	switch s.method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
		return s == shape{method: s.method}
	}
	return false
}

// refine returns the shape of a request whose method, session and path are known.
func (s shape) refine(h http.Header) shape {
	switch s.method {
	case http.MethodPost:
		s.accept = formsOf(h, "application/json", eventStream)
		if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind != "application/json" {
			s.content = strings.ToLower(h.Get("Content-Type")) + " "
		}
	case http.MethodGet:
		s.accept = formsOf(h, eventStream)
	}
	return s
}

const eventStream = "text/event-stream"

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

// readBody says of what a client said whether it need name no session, whether it is
// no message, and which headers say otherwise.
func readBody(h http.Header, body []byte) (begins, broken bool, misrouted string) {
	messages, err := transport.Frame{Bytes: body}.Messages()
	begins = slices.ContainsFunc(messages, func(m transport.Message) bool {
		return m.Method == methodInitialize || m.Method == methodDiscover
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
	if want.Get("Mcp-Method") == "" {
		return "" // of a revision without them
	}
	var wrong []string
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
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

// stateOf returns what a session id stands for so far; of a recording that began
// after the session did that is not known.
func (x *exchanges) stateOf(id string) streamable.SessionState {
	open, given := x.given[id]
	switch {
	case id == "":
		return streamable.SessionNone
	case open:
		return streamable.SessionOpen
	case given:
		return streamable.SessionEnded
	}
	return streamable.SessionUnknown
}

// acknowledge takes ids for those of sessions by which the server took something in,
// wherever the client had them from. The others are no sessions.
func (x *exchanges) acknowledge() {
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
		case x.given[ex.session]: // by the response, to its surprise
		default:
			ex.unknown, ex.session = ex.session, ""
		}
	}
}

// mainPath is the path of the endpoint.
func (x *exchanges) mainPath() string {
	posts := slices.DeleteFunc(slices.Clone(x.order), func(ex *exchange) bool { return ex.method != http.MethodPost || ex.other })
	if i := slices.IndexFunc(posts, func(ex *exchange) bool { return ex.status > 0 && ex.status < 400 }); i >= 0 {
		return pathOf(posts[i].path)
	}
	if len(posts) > 0 {
		return pathOf(posts[0].path)
	}
	return ""
}

// isAside reports whether an exchange is of a request that says nothing and that a
// client does not make of itself, as it asks for the stream of its session: by another
// method than POST, or with a body that is no frame, and refused. A Driver leaves it out, for it has no message;
// see [Asider].
func (x *exchanges) isAside(number uint64) bool {
	ex := x.byNumber[number]
	switch {
	case ex == nil || ex.streams:
		return false
	case ex.method == http.MethodPost:
		return !ex.speaks && ex.status >= 400
	}
	return ex.method != http.MethodGet || slices.ContainsFunc(x.order, func(other *exchange) bool {
		return other.method == http.MethodGet && other.number < ex.number && other.session == ex.session
	}) || x.hasSessions() && ex.named != streamable.SessionOpen
}
