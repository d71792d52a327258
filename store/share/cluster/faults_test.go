package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/push"
	"github.com/mcprec/mcprec/store/share/stream"
)

// sharing is a machine that records and pushes through the proxies, and a folder into which another pulls.
type sharing struct {
	c      *Cluster
	dir    string
	push   *pusher
	stream shipped
	pulled readable
}

// share starts a cluster with a push of a new folder, and a pull that no fault of the links reaches.
func share(t *testing.T, options Options) *sharing {
	t.Helper()
	s := &sharing{c: Start(t, options), dir: t.TempDir()}
	credentials, admin := "", ""
	if options.Accounts {
		credentials, admin = s.c.Accounts.AddUser("pusher"), s.c.Accounts.admin
	}
	s.stream = shipped{openStream(t, s.c.DirectURL(name, admin))}
	s.push = startPush(t, s.dir, s.c.URL(name, credentials), push.Options{})
	s.pulled = startPull(t, s.c.DirectURL(name, admin))
	return s
}

// hold holds that all of the sessions has come, into the stream and into the folder of the pull.
func (s *sharing) hold(t *testing.T, recorded ...*recording) {
	t.Helper()
	arrived(t, s.stream, recorded...)
	compare(t, s.stream, recorded...)
	arrived(t, s.pulled, recorded...)
	compare(t, s.pulled, recorded...)
}

// begin records a session of which the stream has the beginning.
func (s *sharing) begin(t *testing.T) *recording {
	t.Helper()
	r := record(t, s.push.db)
	r.writeFrames(t, 100, 2000)
	arrived(t, s.stream, r)
	return r
}

// TestFrozenNetwork freezes every link while sessions begin, go on and end, and holds that a push can be stopped
// meanwhile, and that the next one ships all of it.
func TestFrozenNetwork(t *testing.T) {
	t.Parallel()
	s := share(t, Options{})
	before := s.begin(t)
	s.c.Nodes[0].Proxy.Freeze()
	before.writeFrames(t, 2000, 2000)
	before.end(t)
	during := record(t, s.push.db)
	during.writeFrames(t, 2000, 2000)
	during.end(t)
	s.push.fails(t)
	s.push.stop()
	s.c.Nodes[0].Proxy.Heal()
	s.push = startPush(t, s.dir, s.c.URL(name, ""), push.Options{HoldBack: time.Nanosecond})
	s.hold(t, before, during)
	s.push.reach(t, "done", before, during)
	tell(t, "a network that freezes while sessions begin, go on and end", 1, "a push can be stopped; all arrives once")
}

// TestHalfOpenLink freezes the connection that a push has, for ever, and holds that it finds another.
func TestHalfOpenLink(t *testing.T) {
	t.Parallel()
	s := share(t, Options{})
	r := s.begin(t)
	s.c.Nodes[0].Proxy.FreezeOpen()
	r.writeFrames(t, 200, 2000)
	r.end(t)
	s.hold(t, r)
	tell(t, "a connection that is half open for ever", 1, "given up; all arrives once")
}

// TestCutLink cuts the link again and again, in the middle of what passes.
func TestCutLink(t *testing.T) {
	t.Parallel()
	cuts := 5
	if night {
		cuts = 100
	}
	s := share(t, Options{})
	r := s.begin(t)
	proxy := s.c.Nodes[0].Proxy
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
	s.hold(t, r)
	tell(t, "a link cut while events pass", cuts, "all arrives once, in order")
}

// TestSlowLink records faster than the link is.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	s := share(t, Options{})
	r := s.begin(t)
	s.c.Nodes[0].Proxy.Slow(100_000)
	r.writeFrames(t, 1000, 2000)
	if head, err := s.stream.Head(t.Context(), r.id); err == nil && head.Seq == r.seq() {
		t.Error("the link is not slow")
	}
	r.end(t)
	s.hold(t, r)
	tell(t, "a link of 100 kB a second", 1, "all arrives once")
}

// TestFullStream fills the stream of chunks, and holds that all is there when the stream has room again.
func TestFullStream(t *testing.T) {
	t.Parallel()
	s := share(t, Options{})
	r := s.begin(t)
	_, js := s.c.Connect()
	limit := func(most int64) {
		t.Helper()
		found, err := js.Stream(t.Context(), name)
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
	s.push.fails(t)
	limit(-1)
	r.end(t)
	s.hold(t, r)
	tell(t, "a stream that is full for a while", 1, "said; all arrives once when there is room")
}

// TestRevokedCredentials revokes the credentials of a push that is connected, over TLS, and gives them back.
func TestRevokedCredentials(t *testing.T) {
	t.Parallel()
	s := share(t, Options{TLS: true, Accounts: true})
	r := s.begin(t)
	s.c.Accounts.Revoke("pusher")
	r.writeFrames(t, 100, 2000)
	s.push.fails(t)
	s.c.Accounts.Reinstate("pusher")
	r.end(t)
	s.hold(t, r)
	tell(t, "credentials that are revoked for a while", 1, "said; all arrives once when they are back")
}

// TestPullLosesLink cuts and freezes the link of a pull again and again, while a session is recorded.
func TestPullLosesLink(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	dir := t.TempDir()
	direct := shipped{openStream(t, c.DirectURL(name, ""))}
	p := startPush(t, dir, c.DirectURL(name, ""), push.Options{})
	pulled := startPull(t, c.URL(name, ""))
	r := record(t, p.db)
	proxy := c.Nodes[0].Proxy
	for n := range 6 {
		r.writeFrames(t, 100, 2000)
		arrived(t, direct, r)
		arrived(t, pulled, r)
		if n%2 == 0 {
			proxy.Cut()
		} else {
			proxy.FreezeOpen()
		}
		r.writeFrames(t, 100, 2000)
		arrived(t, direct, r)
		proxy.Heal()
	}
	r.end(t)
	arrived(t, pulled, r)
	compare(t, pulled, r)
	sealed(t, pulled, r)
	tell(t, "the link of a pull cut or half open", 6, "all arrives once, in order")
}

// TestTwoRecordings has two machines with sessions of one id. The second is refused, and says so.
func TestTwoRecordings(t *testing.T) {
	t.Parallel()
	s := share(t, Options{})
	winner := s.begin(t)
	winner.end(t)
	s.hold(t, winner)
	dir := t.TempDir()
	loser := newRecording()
	loser.id = winner.id
	header := store.Header{ID: loser.id, Start: loser.began.UTC(), Transport: "stdio", Command: []string{"another"}}
	loser.events[0].Payload = header.Encode()
	db := openFolder(t, dir)
	var err error
	if loser.spool, err = db.Spool(t.Context(), loser.events[0]); err != nil {
		t.Fatal(err)
	}
	loser.writeFrames(t, 50, 500)
	loser.end(t)
	troubles := make(chan error, 10)
	second := startPush(t, dir, s.c.URL(name, ""), push.Options{Trouble: func(err error) { troubles <- err }})
	t.Logf("the second is told: %s", second.reach(t, "refused", loser))
	conflict := (*store.ConflictError)(nil)
	if trouble := <-troubles; !errors.As(trouble, &conflict) {
		t.Errorf("the second push says %v", trouble)
	}
	compare(t, s.stream, winner)
	compare(t, db, loser)
	tell(t, "two recordings of one session id", 1, "the second is refused, and says so")
}

// TestLateAppend holds an append back in the network until another push of the same log has gone on, and holds
// that it changes nothing.
func TestLateAppend(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	other := shipped{openStream(t, c.DirectURL(name, ""))}
	late := openStream(t, c.URL(name, ""))
	for name, after := range map[string]int{"the same events": 3, "other batches": 4} {
		t.Run(name, func(t *testing.T) {
			r := newRecording()
			for range 6 {
				r.events = append(r.events, r.frame(1000))
			}
			if _, err := late.Append(t.Context(), r.id, 0, r.events[:2]); err != nil {
				t.Fatal(err)
			}
			c.Nodes[0].Proxy.Freeze()
			done := make(chan error)
			go func() {
				_, err := late.Append(t.Context(), r.id, 2, r.events[2:3])
				done <- err
			}()
			if _, err := other.Append(t.Context(), r.id, 2, r.events[2:after]); err != nil {
				t.Fatal(err)
			}
			if _, err := other.Append(t.Context(), r.id, uint64(after), r.events[after:]); err != nil {
				t.Fatal(err)
			}
			c.Nodes[0].Proxy.Heal()
			if err := <-done; err != nil {
				t.Errorf("the append that came late: %v", err)
			}
			compare(t, other, r)
		})
	}
	tell(t, "an append that comes after another push has gone on", 2, "the log is as it was")
}

// TestDeadPush leaves a session live in the stream, and holds that it is live in a folder until the lease ends,
// and that it goes on there when another push comes.
func TestDeadPush(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	dir := t.TempDir()
	pulled := startPull(t, c.DirectURL(name, ""))
	first := startPush(t, dir, c.URL(name, ""), push.Options{})
	r := record(t, first.db)
	r.writeFrames(t, 10, 500)
	state := func(want store.State) {
		t.Helper()
		wait(t, "the session is "+string(want)+" in the folder", func() error {
			err := errors.New("it is not there")
			for x, fault := range pulled.Sessions(t.Context(), store.Query{Prefix: string(r.id)}) {
				if err = fault; x.State != want {
					err = errors.Join(fault, errors.New(string(x.State)))
				}
			}
			return err
		})
	}
	state(store.Live)
	c.Nodes[0].Proxy.Cut() // the push cannot say that it ends
	first.stop()
	state(store.Crashed)
	c.Nodes[0].Proxy.Heal()
	r.writeFrames(t, 10, 500)
	second := startPush(t, dir, c.URL(name, ""), push.Options{})
	state(store.Live)
	r.end(t)
	arrived(t, pulled, r)
	compare(t, pulled, r)
	sealed(t, pulled, r)
	second.reach(t, "held", r)
	tell(t, "a push that dies without a word", 1, "its live session breaks off with the lease, and goes on with the next push")
}

// TestLocalPowerCut has the machine's disk lose the end of a spool that was shipped, and holds that the push takes
// the session for whole, and leaves the stream as it is.
func TestLocalPowerCut(t *testing.T) {
	t.Parallel()
	s := share(t, Options{})
	r := s.begin(t)
	s.push.stop()
	for _, lost := range []uint64{40, 1} {
		dir := t.TempDir()
		db := openFolder(t, dir)
		if _, err := db.Append(t.Context(), r.id, 0, r.events[:r.seq()-lost]); err != nil {
			t.Fatal(err)
		}
		p := startPush(t, dir, s.c.URL(name, ""), push.Options{HoldBack: time.Nanosecond})
		p.reach(t, "done", r)
		p.stop()
	}
	if err := r.spool.Close(); err != nil {
		t.Error(err)
	}
	s.hold(t, r)
	tell(t, "a power cut that takes back what was shipped", 2, "the stream keeps it")
}

// TestUnknownAuthority holds that a server whose certificate does not verify gets nothing.
func TestUnknownAuthority(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{TLS: true})
	other := newCertificate(t, t.TempDir())
	options, err := stream.ParseURL(c.URL(name, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, authority := range []string{other.caFile, ""} {
		options.CA = authority
		if _, err := stream.Open(t.Context(), options); err == nil {
			t.Fatalf("a certificate of an unknown authority is accepted with ca=%s", authority)
		}
	}
}

// TestLargeEvent ships an event that is larger than a message, and one that the stream does not take: it is cut.
func TestLargeEvent(t *testing.T) {
	t.Parallel()
	s := share(t, Options{})
	r := record(t, s.push.db)
	noise := func(size int) {
		event := r.frame(10)
		event.Payload = make([]byte, size)
		for i := range event.Payload {
			event.Payload[i] = byte('a' + r.random.Uint32()%26)
		}
		if err := r.write(event); err != nil {
			t.Fatal(err)
		}
	}
	noise(5 << 20)
	r.writeFrames(t, 3, 100)
	r.end(t)
	s.hold(t, r)

	_, js := s.c.Connect()
	found, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	config := found.CachedInfo().Config
	config.AllowAtomicPublish = false
	if err := js.DeleteStream(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: config.Subjects, Storage: config.Storage, Discard: config.Discard}); err != nil {
		t.Fatal(err)
	}
	s.push.stop()
	cut := make(chan error, 10)
	s.push = startPush(t, s.dir, s.c.DirectURL(name, ""), push.Options{Trouble: func(err error) { cut <- err }})
	r = record(t, s.push.db)
	noise(5 << 20)
	r.writeFrames(t, 3, 100)
	r.end(t)
	t.Logf("the push says: %v", <-cut)
	large := &r.events[1]
	large.Cut = uint64(len(large.Payload) - 256<<10)
	large.Payload = large.Payload[:256<<10]
	s.hold(t, r)
	tell(t, "an event that the stream does not take", 1, "it is cut there, and told")
}
