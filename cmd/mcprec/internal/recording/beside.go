package recording

import (
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/metrics"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/spans"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
)

// Observers are told what is recorded, beside the sessions: no session waits for them.
type Observers struct {
	Metrics    string        // the address for a Prometheus server; "": there is none
	StuckAfter time.Duration // for the metrics: what has been open as long is stuck
	OTLP       string        // the URL of a collector of spans; "": there is none
	Release    string        // the version that the spans name
}

// observers are those of a run of record. The zero observers are none.
type observers struct {
	counts *metrics.Collector
	server *metrics.Server
	spans  *spans.Exporter
	sentTo string // the URL of the collector of spans, without a password
}

// observe begins what the options ask for. A port that is taken is reported, and the sessions go on.
func (r *recording) observe() error {
	var address metrics.Address
	var target spans.Target
	var err error
	if r.Metrics != "" {
		if address, err = metrics.ParseAddress(r.Metrics); err != nil {
			return exit.Usagef("--metrics %v", err)
		}
	}
	if r.OTLP != "" {
		if target, err = spans.ParseTarget(r.OTLP, os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")); err != nil {
			return exit.Usagef("--otlp: %v", err)
		}
	}
	if r.OTLP != "" {
		r.sentTo = target.URL.Redacted()
		r.spans = spans.New(target, r.Release, func(err error) {
			r.say("%s takes no spans: %v; the session goes on, and its spans wait for a while", r.sentTo, err)
		})
	}
	if r.Metrics == "" {
		return nil
	}
	r.counts = metrics.NewCollector(r.Recorder, r.Label, r.StuckAfter)
	r.server, err = metrics.Listen(address, r.counts.Snapshot)
	switch {
	case err != nil:
		r.counts = nil
		r.say("--metrics %s: %v; the session goes on without metrics", r.Metrics, err)
	case address.AnyPort() || r.Verbose:
		r.say("metrics: %s", r.server.URL())
	}
	return nil
}

// observeOutbox has the metrics tell of the outbox of a shared store.
func (r *recording) observeOutbox() {
	box := r.db.Outbox()
	if r.counts == nil || box == nil {
		return
	}
	r.counts.Ship(func() metrics.Outbox {
		s := box.Stats()
		return metrics.Outbox{
			Connected: s.Connected, Events: s.EventsWaiting, Bytes: s.BytesWaiting, Left: s.BytesLeft, Oldest: s.OldestWaiting,
			Shipped: s.EventsShipped, Acknowledged: s.EventsAcknowledged, Failed: s.Retries, Refused: s.Refused,
		}
	})
}

// followPatience is how long the end of a session waits for the observers to read its last events.
const followPatience = time.Second

// count tells the metrics of a recorder, until the caller calls end; it returns nil without metrics.
func (r *recording) count(rec *recorder.Recorder) (counted *metrics.Session, end func()) {
	if r.counts == nil {
		return nil, func() {}
	}
	counted = r.counts.Session(rec)
	return counted, counted.End
}

// follow tells the observers of a session, until the caller calls end.
func (r *recording) follow(rec *recorder.Recorder) (end func()) {
	counted, endCounting := r.count(rec)
	if r.db == nil || counted == nil && r.spans == nil { // without a store what is lost is counted
		return endCounting
	}
	ctx, cancel := context.WithCancel(context.Background())
	read := make(chan struct{})
	go func() {
		defer close(read)
		err := r.tell(r.db.Read(ctx, rec.ID(), 1, store.ReadOptions{Follow: true}), counted)
		switch {
		case err != nil && ctx.Err() != nil:
			r.say("session %s: it ended before all of it was read for %s", rec.ID(), r.purpose())
		case err != nil:
			r.say("session %s: %v; what follows is missing in %s", rec.ID(), err, r.purpose())
		}
	}()
	return func() {
		defer endCounting()
		defer cancel()
		select {
		case <-read:
			return
		case <-time.After(followPatience):
			cancel()
		}
		select {
		case <-read:
		case <-time.After(followPatience): // the disk does not answer
		}
	}
}

// purpose says what the events are read for.
func (r *recording) purpose() string {
	switch {
	case r.spans == nil:
		return "the metrics"
	case r.counts == nil:
		return "the spans; mcprec export --format otlp writes them"
	}
	return "the metrics and the spans; mcprec export --format otlp writes the spans"
}

// tell gives the events of a session to the observers.
func (r *recording) tell(events iter.Seq2[store.Event, error], counted *metrics.Session) error {
	counting := func(yield func(store.Event, error) bool) {
		for e, err := range events {
			if err == nil && counted != nil {
				counted.Apply(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
	if r.spans == nil {
		return r.each(counting, func(store.Event) {})
	}
	masker, err := r.Home.Masker(r.db)
	if err != nil {
		return errors.Join(err, r.each(counting, func(store.Event) {}))
	}
	session := r.spans.Session()
	err = r.each(masker.Events(counting), session.Apply)
	if err == nil { // else calls without an answer may have one that was not read
		session.End()
	}
	return err
}

// each calls f with the events of a session, to its end.
func (r *recording) each(events iter.Seq2[store.Event, error], f func(store.Event)) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		f(e)
		if e.Kind == store.Closed {
			break
		}
	}
	return nil
}

// spansPatience is how long the end of a recorder waits for the collector to take the last spans.
const spansPatience = time.Second

// endObserving ends the observers, when all sessions have ended, and reports the spans that the
// collector did not take.
func (r *recording) endObserving() {
	if r.server != nil {
		r.server.Close()
	}
	if r.spans == nil {
		return
	}
	sum := r.spans.Close(spansPatience)
	switch {
	case sum.Dropped > 0:
		r.say("%s %s not sent to %s: %v; mcprec export --format otlp writes them", phrase.Plural(sum.Dropped, "span"), phrase.Agree(sum.Dropped, "was", "were"), r.sentTo, sum.Err)
	case r.Verbose:
		r.say("sent %s to %s", phrase.Plural(sum.Sent, "span"), r.sentTo)
	}
}
