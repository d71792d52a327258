// Package spans sends the calls of live sessions to an OpenTelemetry collector, a span a call, by
// OTLP over HTTP in its JSON form.
//
// # What it promises
//
// A span leaves within a second after its call has ended. Nobody waits for the collector: a span
// that finds no room in the queue is dropped, and so is one that the collector does not take after
// some tries; [Exporter.Close] tells how many. The spans are those of mcprec export --format otlp.
//
// # Data layout
//
// spans.go has the [Exporter] with its bounded queue, and a [Session] for each session, whose
// events its caller gives in order, masked. send.go sends the queue in batches, from one goroutine.
//
// # What it refuses
//
// It reads no store and masks nothing. It follows no redirect, which could lead the headers with
// the user's credentials elsewhere.
package spans

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/replay/otlp"
	"github.com/mcprec/mcprec/store"
)

const (
	maxQueued = 8192    // spans that wait
	maxHeld   = 4 << 20 // bytes that they take
	maxBatch  = 512     // spans of a request
)

// gather is how long a span waits for others of its batch.
const gather = 300 * time.Millisecond

// Target is where spans go.
type Target struct {
	URL    *url.URL // of the requests
	Header http.Header
}

// ParseTarget reads the URL of a collector, to which /v1/traces is added, and the headers of
// OTEL_EXPORTER_OTLP_HEADERS: NAME=VALUE, several with commas between, percent-encoded.
func ParseTarget(text, headers string) (Target, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "": // the text may have a password
		return Target{}, errors.New("want the URL of a collector, such as http://localhost:4318")
	case !strings.HasSuffix(u.Path, "/v1/traces"):
		u = u.JoinPath("v1", "traces")
	}
	target := Target{URL: u, Header: http.Header{}}
	for pair := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil || !isToken(name) || strings.ContainsAny(decoded, "\r\n\x00") { // the value may be a credential
			return Target{}, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: want NAME=VALUE, several with commas between, percent-encoded; %q is none", name)
		}
		target.Header.Add(name, decoded)
	}
	return target, nil
}

// isToken reports whether a text can be the name of a header.
func isToken(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// Summary is what became of the spans.
type Summary struct {
	Sent    uint64
	Dropped uint64
	Err     error // the latest failure, or nil
}

// Exporter sends the spans of sessions. Its methods may be called at any time.
type Exporter struct {
	target  Target
	version string
	client  *http.Client
	report  func(error) // may be nil
	gather  time.Duration

	mu     sync.Mutex // guards the fields below, and is held for no request
	queue  []otlp.Span
	held   int
	sum    Summary
	closed bool
	filled chan struct{} // a span came into the queue, or the queue is closed

	stop  context.CancelFunc // ends requests and pauses
	ended chan struct{}
}

// New returns an Exporter whose sending has begun. version is the version of the program. report is
// called at the first failure of the collector, from a goroutine of its own; it may be nil.
func New(target Target, version string, report func(error)) *Exporter {
	return start(target, version, report, gather)
}

func start(target Target, version string, report func(error), gather time.Duration) *Exporter {
	ctx, stop := context.WithCancel(context.Background())
	x := &Exporter{target: target, version: version, report: report, gather: gather, stop: stop,
		filled: make(chan struct{}, 1), ended: make(chan struct{}),
		client: &http.Client{Timeout: requestTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	go x.run(ctx)
	return x
}

// Session begins a session. Its methods are for one goroutine.
func (x *Exporter) Session() *Session { return &Session{x, otlp.NewBuilder(x.version)} }

// Session makes the spans of one session.
type Session struct {
	exporter *Exporter
	builder  *otlp.Builder
}

// Apply takes the next event, masked, and queues the spans that it ends.
func (s *Session) Apply(event store.Event) { s.exporter.push(s.builder.Apply(event)) }

// End queues the spans of the calls without an answer, and that of the session.
func (s *Session) End() { s.exporter.push(s.builder.End()) }

// errEnded is the cause where the collector was not slow, or down, for long.
var errEnded = errors.New("the recorder ended before the collector took them")

var errFull = errors.New("more spans ended than the collector took")

// push queues spans, or drops them where there is no room.
func (x *Exporter) push(spans []otlp.Span) {
	if len(spans) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, span := range spans {
		if x.closed || len(x.queue) >= maxQueued || x.held+len(span.JSON) > maxHeld {
			x.sum.Dropped++
			if x.sum.Err == nil {
				x.sum.Err = errFull
			}
			continue
		}
		x.queue = append(x.queue, span)
		x.held += len(span.JSON)
	}
	x.wake()
}

// wake tells the sender that the queue has changed.
func (x *Exporter) wake() {
	select {
	case x.filled <- struct{}{}:
	default:
	}
}

// Close sends what waits, for at most patience, and returns what became of all spans.
func (x *Exporter) Close(patience time.Duration) Summary {
	x.mu.Lock()
	x.closed = true
	x.wake()
	x.mu.Unlock()
	timer := time.AfterFunc(patience, x.stop)
	<-x.ended
	timer.Stop()
	x.stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sum
}
