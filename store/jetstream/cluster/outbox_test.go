package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jetstream"
	"github.com/mcprec/mcprec/store/outbox"
)

// lease is how long a recorder that does not answer holds its session here. It is short, because some
// tests wait for its end.
const lease = 5 * time.Second

// openOutbox opens the outbox in a folder, on the way to the store behind a URL.
func openOutbox(t testing.TB, dir, url string, options outbox.Options) *outbox.Outbox {
	t.Helper()
	local, err := boltstore.Open(dir, boltstore.Options{Outbox: true})
	if err != nil {
		t.Fatal(err)
	}
	target, err := jetstream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	target.Lease = lease
	options.Target = target.URL()
	if options.Trouble == nil {
		options.Trouble = func(err error) { t.Errorf("trouble: %v", err) }
	}
	o := outbox.New(local, func(ctx context.Context) (outbox.Shared, error) { return jetstream.Open(ctx, target) }, options)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// acknowledged waits until the shared store has acknowledged all that an outbox was given.
func acknowledged(t testing.TB, o *outbox.Outbox) {
	t.Helper()
	wait(t, "the outbox is empty", func() error {
		if stats := o.Stats(); stats.EventsWaiting > 0 {
			return errors.Join(errors.New("events wait"), stats.LastError)
		}
		return nil
	})
}

// flush flushes an outbox until each session has reached a fate, and returns the results of the last
// time.
func flush(t testing.TB, o *outbox.Outbox, fate outbox.Fate) (results []outbox.Flushed) {
	t.Helper()
	wait(t, "every session is "+string(fate), func() error {
		results = nil
		err := o.Flush(t.Context(), func(result outbox.Flushed) { results = append(results, result) })
		for _, result := range results {
			if result.Fate != fate {
				err = errors.Join(err, errors.New("session "+string(result.ID)+" is "+string(result.Fate)), result.Err)
			}
		}
		return err
	})
	return results
}

// within runs a function that is to return whatever happens to the network.
func within(t testing.TB, what string, run func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s: it waits", what)
	}
}

// TestFrozenNetwork freezes every link, and holds that a session begins, goes on and ends without a
// wait, that closing the outbox does not wait for long, and that a later process ships all of it.
func TestFrozenNetwork(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	dir := t.TempDir()
	url := c.URL(stream, "")
	first := openOutbox(t, dir, url, outbox.Options{})
	before := record(t, first)
	before.writeFrames(t, 100, 2000)
	acknowledged(t, first)

	proxy := c.Nodes[0].Proxy
	proxy.Freeze()
	var during *recording
	within(t, "recording over a frozen network", func() {
		before.writeFrames(t, 2000, 2000)
		before.end(t)
		during = record(t, first)
		during.writeFrames(t, 2000, 2000)
		during.end(t)
		_ = first.Close() // it may say that the rest is left
	})
	proxy.Heal()
	second := openOutbox(t, dir, url, outbox.Options{HoldBack: time.Nanosecond})
	flush(t, second, outbox.Freed)
	compare(t, openStore(t, c.DirectURL(stream, "")), before, during)
	if _, err := second.Head(t.Context(), during.id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the outbox still has a session: %v", err)
	}
	tell(t, "a network that freezes while sessions begin, go on and end", 1, "no write waits; all arrives once")
}

// TestHalfOpenLink freezes the connection that a recorder has, for ever, and holds that its outbox
// finds another.
func TestHalfOpenLink(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	o := openOutbox(t, t.TempDir(), c.URL(stream, ""), outbox.Options{})
	r := record(t, o)
	r.writeFrames(t, 100, 2000)
	acknowledged(t, o)
	c.Nodes[0].Proxy.FreezeOpen()
	r.writeFrames(t, 100, 2000)
	acknowledged(t, o)
	r.writeFrames(t, 100, 2000)
	r.end(t)
	reader := openStore(t, c.DirectURL(stream, ""))
	arrived(t, reader, r)
	compare(t, reader, r)
	tell(t, "a connection that is half open for ever", 1, "given up; all arrives once")
}

// TestCutLink cuts the link again and again, in the middle of what passes.
func TestCutLink(t *testing.T) {
	t.Parallel()
	cuts := 5
	if night {
		cuts = 100
	}
	c := Start(t, Options{})
	o := openOutbox(t, t.TempDir(), c.URL(stream, ""), outbox.Options{})
	r := record(t, o)
	r.writeFrames(t, 10, 2000)
	acknowledged(t, o)
	proxy := c.Nodes[0].Proxy
	for range cuts {
		passed := proxy.Passed()
		r.writeFrames(t, 200, 2000)
		wait(t, "bytes pass", func() error {
			if proxy.Passed() == passed {
				return errors.New("none")
			}
			return nil
		})
		proxy.Cut()
		r.writeFrames(t, 10, 2000)
		proxy.Heal()
	}
	r.end(t)
	reader := openStore(t, c.DirectURL(stream, ""))
	arrived(t, reader, r)
	compare(t, reader, r)
	tell(t, "a link cut while events pass", cuts, "all arrives once, in order")
}

// TestSlowLink records faster than the link is.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	proxy := c.Nodes[0].Proxy
	proxy.Slow(100_000)
	o := openOutbox(t, t.TempDir(), c.URL(stream, ""), outbox.Options{})
	r := record(t, o)
	within(t, "recording over a slow link", func() { r.writeFrames(t, 1000, 2000) })
	if head, err := openStore(t, c.DirectURL(stream, "")).Head(t.Context(), r.id); err == nil && head.Seq == r.seq() {
		t.Error("the link is not slow")
	}
	r.end(t)
	reader := openStore(t, c.DirectURL(stream, ""))
	arrived(t, reader, r)
	compare(t, reader, r)
	tell(t, "a link of 100 kB a second", 1, "no write waits; all arrives once")
}

// TestOutboxFullStream fills the stream of chunks, and holds that recording goes on and that all is there
// when the stream has room again.
func TestOutboxFullStream(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	_, js := c.Connect()
	o := openOutbox(t, t.TempDir(), c.URL(stream, ""), outbox.Options{})
	r := record(t, o)
	r.writeFrames(t, 100, 2000)
	acknowledged(t, o)
	limit := func(most int64) {
		t.Helper()
		found, err := js.Stream(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		config := found.CachedInfo().Config
		config.MaxBytes = most
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	limit(20_000)
	r.writeFrames(t, 1000, 2000)
	wait(t, "the stream is full", func() error {
		if stats := o.Stats(); stats.LastError == nil || stats.EventsWaiting == 0 {
			return errors.New("no error")
		}
		return nil
	})
	t.Logf("a full stream is told as: %v", o.Stats().LastError)
	limit(-1)
	r.end(t)
	reader := openStore(t, c.DirectURL(stream, ""))
	arrived(t, reader, r)
	compare(t, reader, r)
	tell(t, "a stream that is full for a while", 1, "said; all arrives once when there is room")
}

// TestRevokedCredentials revokes the credentials of a recorder that is connected, over TLS, and gives
// them back.
func TestRevokedCredentials(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{TLS: true, Accounts: true})
	credentials := c.Accounts.AddUser("recorder")
	o := openOutbox(t, t.TempDir(), c.URL(stream, credentials), outbox.Options{})
	r := record(t, o)
	r.writeFrames(t, 100, 2000)
	acknowledged(t, o)
	c.Accounts.Revoke("recorder")
	r.writeFrames(t, 100, 2000)
	wait(t, "the outbox says that it is refused", func() error {
		if stats := o.Stats(); stats.LastError == nil || stats.EventsWaiting == 0 {
			return errors.New("no error")
		}
		return nil
	})
	t.Logf("revoked credentials are told as: %v", o.Stats().LastError)
	c.Accounts.Reinstate("recorder")
	r.end(t)
	reader := openStore(t, c.DirectURL(stream, c.Accounts.admin))
	arrived(t, reader, r)
	compare(t, reader, r)
	tell(t, "credentials that are revoked for a while", 1, "said; all arrives once when they are back")
}

// TestUnknownAuthority holds that a server whose certificate does not verify gets nothing.
func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{TLS: true})
	other := newCertificate(t, t.TempDir())
	options, err := jetstream.ParseURL(c.URL(stream, ""))
	if err != nil {
		t.Fatal(err)
	}
	options.CA = other.caFile
	if _, err := jetstream.Open(t.Context(), options); err == nil {
		t.Fatal("a certificate of an unknown authority is accepted")
	}
	options.CA = ""
	if _, err := jetstream.Open(t.Context(), options); err == nil {
		t.Fatal("a certificate of an unknown authority is accepted without ca=FILE")
	}
}

// TestTwoRecorders has two recorders, with outboxes of their own, that record under one session id.
// One of them is refused, and says so.
func TestTwoRecorders(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	url := c.URL(stream, "")
	first := openOutbox(t, t.TempDir(), url, outbox.Options{})
	winner := record(t, first)
	winner.writeFrames(t, 50, 500)
	acknowledged(t, first)

	troubles := make(chan error, 10)
	dir := t.TempDir()
	second := openOutbox(t, dir, url, outbox.Options{Trouble: func(err error) { troubles <- err }})
	loser := newRecording(t)
	loser.id = winner.id
	header := store.Header{ID: loser.id, Start: loser.began.UTC(), Transport: "stdio", Command: []string{"another"}}
	loser.events[0].Payload = header.Encode()
	var err error
	loser.spool, err = second.Spool(t.Context(), loser.events[0])
	if err != nil {
		t.Fatal(err)
	}
	loser.writeFrames(t, 50, 500)
	select {
	case trouble := <-troubles:
		if !errors.Is(trouble, store.ErrLive) {
			t.Errorf("the second recorder is told %v", trouble)
		}
		t.Logf("the second recorder is told: %v", trouble)
	case <-time.After(patience):
		t.Fatal("the second recorder is told nothing")
	}
	loser.end(t)
	winner.writeFrames(t, 50, 500)
	winner.end(t)
	acknowledged(t, first)
	reader := openStore(t, c.DirectURL(stream, ""))
	arrived(t, reader, winner)
	// The session is free now, and it is another one.
	var results []outbox.Flushed
	wait(t, "the flush finds another recording", func() error {
		results = nil
		err := second.Flush(t.Context(), func(result outbox.Flushed) { results = append(results, result) })
		if err == nil && (len(results) != 1 || results[0].Fate != outbox.Kept || results[0].Err == nil) {
			err = errors.New("not kept")
		}
		return err
	})
	t.Logf("its flush is told: %v", results[0].Err)
	compare(t, reader, winner)
	compare(t, second, loser) // nothing of it is lost
	tell(t, "two recorders of one session id", 1, "the second is refused, says so, and keeps its recording")
}
