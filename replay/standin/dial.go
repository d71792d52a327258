package standin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Dial returns a client that connects the client's half of a recording to a server over HTTP
// as the recorded client was: in one session or in several, with the standalone stream if
// that client had it. A response that is no success and has no message is as it should be if
// it was recorded for the same request.
func Dial(events []store.Event, url string) streamable.Client {
	x := exchangesOf(events)
	client := streamable.Client{URL: url, Legacy: x.legacy, Listen: x.listenTime()}
	if len(x.order) == 0 {
		return client
	}
	sessions := x.sessions()
	client.Session = func(stream uint64) string { return sessions[stream] }
	rejected := newRejections(match.Rules{}, x).byNumber()
	client.Manner = func(stream uint64) *streamable.Manner {
		ex := x.byNumber[stream]
		if ex == nil {
			return nil
		}
		m := &streamable.Manner{Routing: http.Header{}, MayBreak: ex.none, Awaits: ex.noneFirst}
		for name, values := range ex.request {
			if strings.HasPrefix(name, "Mcp-") && name != mcp.HeaderSessionID {
				m.Routing[name] = values
			}
		}
		if f := rejected[stream]; f != nil {
			m.Session, m.ID, m.Path = f.form.session, ex.unknown, f.form.path
			m.Header = http.Header{"Accept": ex.request["Accept"], "Content-Type": ex.request["Content-Type"]}
			if f.form.lost {
				m.Header[mcp.HeaderLastEventID] = ex.request[mcp.HeaderLastEventID]
			}
		}
		return m
	}
	client.Forgive = func(stream uint64, e *streamable.StatusError) bool {
		ex := x.byNumber[stream]
		return ex != nil && ex.status == e.Status
	}
	return client
}

// listenTime returns when the recorded client asked for the standalone stream, which it may
// not have got. A client on stdio had no stream to ask for.
func (x *exchanges) listenTime() streamable.ListenTime {
	initialized := false
	for _, ex := range x.order {
		switch {
		case x.legacy:
			return streamable.ListenNever
		case ex.method == http.MethodGet && ex.resumes == "" && initialized:
			return streamable.ListenInitialized
		case ex.method == http.MethodGet && ex.resumes == "" && ex.session != "":
			return streamable.ListenAnswered
		}
		initialized = initialized || ex.initialized
	}
	if len(x.order) == 0 {
		return streamable.ListenInitialized
	}
	return streamable.ListenNever
}

// rawRequest is a recorded HTTP request without a message, which no client of MCP makes and
// which the server refused for its form: a PUT, a GET without a session, a body that is no
// message.
type rawRequest struct {
	exchange *exchange
	body     []byte
	sent     bool
	status   int   // of the live server
	err      error // why it has none
}

// RawRequester is a Conn of a client over HTTP that also makes the recorded client's raw requests:
// those without a message, which the server refused. It makes each before the first message
// that followed it, and the last ones when the client ends its side. RawVerdicts returns the
// verdicts on them.
//
// It also waits for the answers that were only a status, which the driver does not know of.
type RawRequester struct {
	*streamable.ClientConn
	raw      []*rawRequest
	statuses map[uint64]*statusAnswer // by the number of the exchange
	recorded *exchanges
}

// HangUp ends an exchange as the recorded client did: for good, or to come back to its stream
// with Last-Event-ID.
func (a *RawRequester) HangUp(number uint64) {
	ex := a.recorded.byNumber[number]
	switch {
	case ex == nil || !ex.resumed:
		a.ClientConn.HangUp(number)
	case ex.method == http.MethodGet:
		a.Drop(0)
	default:
		a.Drop(number)
	}
}

// statusAnswer is a recorded answer to a message that was only a status, and no success.
type statusAnswer struct {
	exchange *exchange
	asked    bool
	came     func()        // to be called when the live server has answered with that status
	answered chan struct{} // closed then
}

// DialRaw connects a client that [Dial] has made for the recording.
func DialRaw(ctx context.Context, client streamable.Client, events []store.Event) (*RawRequester, error) {
	x := exchangesOf(events)
	a := &RawRequester{statuses: map[uint64]*statusAnswer{}, recorded: x}
	rejected := newRejections(match.Rules{}, x).byNumber()
	for _, ex := range x.order {
		dropped := bytes.Contains(ex.asked, []byte("[dropped]")) // an older recorder kept only that there was a login
		if rejected[ex.number] != nil && x.isRawRequest(ex.number) && !ex.other && !dropped {
			a.raw = append(a.raw, &rawRequest{exchange: ex, body: ex.asked})
		}
		if ex.status >= 300 && ex.messages == 0 && ex.method == http.MethodPost && !x.isRawRequest(ex.number) {
			s := &statusAnswer{exchange: ex, answered: make(chan struct{})}
			s.came = sync.OnceFunc(func() { close(s.answered) })
			a.statuses[ex.number] = s
		}
	}
	forgive := client.Forgive
	client.Forgive = func(stream uint64, e *streamable.StatusError) bool {
		forgiven := forgive != nil && forgive(stream, e)
		if s := a.statuses[stream]; s != nil && forgiven {
			s.came()
		}
		return forgiven
	}
	var err error
	a.ClientConn, err = client.Dial(ctx)
	return a, err
}

// Write implements Conn.
func (a *RawRequester) Write(ctx context.Context, f transport.Frame) error {
	if f.Stream > 0 {
		a.askBefore(ctx, f.Stream)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if s := a.statuses[f.Stream]; s != nil {
		s.asked = true
	}
	return a.ClientConn.Write(ctx, f)
}

// CloseWrite makes the last raw requests and waits for the statuses. The client's side of a
// session over HTTP has no end of its own.
func (a *RawRequester) CloseWrite() error {
	ctx, stop := context.WithTimeout(context.Background(), partingTimeout)
	defer stop()
	a.askBefore(ctx, math.MaxUint64)
	for _, s := range a.statuses {
		if s.asked {
			select {
			case <-s.answered:
			case <-ctx.Done():
			}
		}
	}
	return errors.ErrUnsupported
}

// askBefore makes the raw requests that were made before an exchange.
func (a *RawRequester) askBefore(ctx context.Context, exchange uint64) {
	for _, r := range a.raw {
		if r.exchange.number < exchange && !r.sent {
			r.sent = true
			r.status, r.err = a.Aside(ctx, r.exchange.number, r.exchange.method, r.body)
		}
	}
}

// RawVerdicts returns the verdicts on raw requests and statuses. It is for after the drive.
func (a *RawRequester) RawVerdicts() (list []match.StepVerdict) {
	for _, r := range a.raw {
		what, want := r.exchange.method+" "+pathOf(r.exchange.path), r.exchange.status
		v := match.StepVerdict{Seq: r.exchange.head, Dir: transport.ServerToClient, What: what, Result: match.Match}
		switch {
		case !r.sent:
			v.Result, v.Text = match.NotSent, fmt.Sprintf("%s: what it follows did not come", what)
		case r.err != nil:
			v.Result, v.Text = match.Missing, fmt.Sprintf("%s was answered %d; now there is no answer: %v", what, want, r.err)
		case r.status != want:
			v.Result, v.Text = match.Mismatch, fmt.Sprintf("%s was answered %d, and now %d %s", what, want, r.status, http.StatusText(r.status))
			v.Differences = []match.Difference{{Path: "/status", Want: strconv.Itoa(want), Got: strconv.Itoa(r.status)}}
		}
		list = append(list, v)
	}
	for _, number := range slices.Sorted(maps.Keys(a.statuses)) {
		s := a.statuses[number]
		if !s.asked {
			continue
		}
		what := fmt.Sprintf("the status of %s %s", s.exchange.method, pathOf(s.exchange.path))
		v := match.StepVerdict{Seq: s.exchange.head, Dir: transport.ServerToClient, What: what, Result: match.Match}
		select {
		case <-s.answered:
		default:
			v.Result, v.Text = match.Missing, fmt.Sprintf("#%d, %s, was %d, which did not come", v.Seq, what, s.exchange.status)
		}
		list = append(list, v)
	}
	return list
}
