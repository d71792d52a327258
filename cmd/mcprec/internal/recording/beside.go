package recording

import (
	"context"
	"errors"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/metrics"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
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

// observers are those of a run of record. They read what is recorded, and nothing waits for them.
type observers struct {
	home   session.Home
	db     *session.Store                   // nil without a store
	say    func(format string, args ...any) // on standard error
	isLoud bool                             // say also what goes well
	counts *metrics.Collector               // nil without metrics
	server *metrics.Server
	spans  *spans.Exporter // nil without spans
	sentTo string          // the URL of the collector of spans, without a password
}

// observe begins what the options ask for. A port that is taken is reported, and the sessions go on.
func observe(options Options, say func(format string, args ...any)) (*observers, error) {
	o := &observers{home: options.Home, say: say, isLoud: options.Verbose}
	var address metrics.Address
	var target spans.Target
	var err error
	if options.Metrics != "" {
		if address, err = metrics.ParseAddress(options.Metrics); err != nil {
			return nil, exit.Usagef("--metrics %v", err)
		}
	}
	if options.OTLP != "" {
		if target, err = spans.ParseTarget(options.OTLP, os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")); err != nil {
			return nil, exit.Usagef("--otlp: %v", err)
		}
		o.sentTo = target.URL.Redacted()
		o.spans = spans.New(target, options.Release, func(err error) {
			say("%s takes no spans: %v; the session goes on, and its spans wait for a while", o.sentTo, err)
		})
	}
	if options.Metrics == "" {
		return o, nil
	}
	counts := metrics.NewCollector(options.Recorder, options.Label, options.StuckAfter, options.Now)
	o.server, err = metrics.Listen(address, counts.Snapshot)
	if err != nil {
		say("--metrics %s: %v; the session goes on without metrics", options.Metrics, err)
		return o, nil
	}
	o.counts = counts
	if address.AnyPort() || o.isLoud {
		say("metrics: %s", o.server.URL())
	}
	return o, nil
}

// setStore sets the store that the sessions are in, before the first of them.
func (o *observers) setStore(db *session.Store) {
	o.db = db
	box := db.Outbox()
	if o.counts == nil || box == nil {
		return
	}
	o.counts.Ship(func() metrics.Outbox {
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
func (o *observers) count(rec *recorder.Recorder) (counted *metrics.Session, end func()) {
	if o.counts == nil {
		return nil, func() {}
	}
	counted = o.counts.Session(rec)
	return counted, counted.End
}

// follow tells the observers of a session, until the caller calls end.
func (o *observers) follow(rec *recorder.Recorder) (end func()) {
	counted, endCounting := o.count(rec)
	if o.db == nil || counted == nil && o.spans == nil { // without a store what is lost is counted
		return endCounting
	}
	ctx, cancel := context.WithCancel(context.Background())
	read := make(chan struct{})
	sayCut := sync.OnceFunc(func() {
		o.say("session %s: it ended before all of it was read for %s", rec.ID(), o.purpose())
	})
	go func() {
		defer close(read)
		err := o.tell(o.db.Read(ctx, rec.ID(), 1, store.ReadOptions{Follow: true}), counted)
		switch {
		case err != nil && ctx.Err() != nil:
			sayCut()
		case err != nil:
			o.say("session %s: %v; what follows is missing in %s", rec.ID(), err, o.purpose())
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
		case <-time.After(followPatience): // the disk does not answer, or the machine is very busy
			sayCut()
		}
	}
}

// purpose says what the events are read for.
func (o *observers) purpose() string {
	switch {
	case o.spans == nil:
		return "the metrics"
	case o.counts == nil:
		return "the spans; mcprec export --format otlp writes them"
	}
	return "the metrics and the spans; mcprec export --format otlp writes the spans"
}

// tell gives the events of a session to the observers.
func (o *observers) tell(events iter.Seq2[store.Event, error], counted *metrics.Session) error {
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
	if o.spans == nil {
		return each(counting, func(store.Event) {})
	}
	masker, err := o.home.Masker(o.db)
	if err != nil {
		return errors.Join(err, each(counting, func(store.Event) {}))
	}
	traced := o.spans.Session()
	err = each(masker.Events(counting), traced.Apply)
	if err == nil { // else calls without an answer may have one that was not read
		traced.End()
	}
	return err
}

// each calls f with the events of a session, to its end.
func each(events iter.Seq2[store.Event, error], f func(store.Event)) error {
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

// end ends the observers, when all sessions have ended, and reports the spans that the
// collector did not take.
func (o *observers) end() {
	if o.server != nil {
		o.server.Close()
	}
	if o.spans == nil {
		return
	}
	sum := o.spans.Close(spansPatience)
	switch {
	case sum.Dropped > 0:
		o.say("%s %s not sent to %s: %v; mcprec export --format otlp writes them", phrase.Plural(sum.Dropped, "span"), phrase.Agree(sum.Dropped, "was", "were"), o.sentTo, sum.Err)
	case o.isLoud:
		o.say("sent %s to %s", phrase.Plural(sum.Sent, "span"), o.sentTo)
	}
}
