package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jetstream"
)

// openWith opens a store whose claims have a lease.
func openWith(t *testing.T, url string, lease time.Duration) *jetstream.Store {
	t.Helper()
	options, err := jetstream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.Lease = lease
	s, err := jetstream.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// mustClaim claims a session as soon as nobody holds it.
func mustClaim(t *testing.T, s *jetstream.Store, id store.SessionID) (claim store.Claim) {
	t.Helper()
	wait(t, "the session is claimed", func() (err error) {
		claim, err = s.Claim(t.Context(), id)
		return err
	})
	return claim
}

// TestLateAppend holds an append of a silent holder back in the network until another has claimed the
// session, and holds that the append is refused then, as is everything that the old holder does.
func TestLateAppend(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	r := newRecording(t)
	for range 5 {
		r.events = append(r.events, r.frame(1000))
	}
	old := openWith(t, c.URL(stream, ""), time.Second)
	late := mustClaim(t, old, r.id)
	if _, err := late.Append(t.Context(), 0, r.events[:2]); err != nil {
		t.Fatal(err)
	}
	c.Nodes[0].Proxy.Freeze()
	done := make(chan error)
	go func() {
		_, err := late.Append(t.Context(), 2, r.events[2:3])
		done <- err
	}()

	// The reader has no part in the judgement that the holder is silent, the servers have.
	other := openWith(t, c.DirectURL(stream, ""), time.Minute)
	claim := mustClaim(t, other, r.id)
	c.Nodes[0].Proxy.Heal()
	if err := <-done; !errors.Is(err, store.ErrLive) {
		t.Errorf("the append that came late: %v", err)
	}
	if _, err := late.Append(t.Context(), 2, r.events[2:]); !errors.Is(err, store.ErrLive) {
		t.Errorf("another append: %v", err)
	}
	if head, err := other.Head(t.Context(), r.id); err != nil || head.Seq != 2 {
		t.Errorf("head %v, %v; want event 2", head, err)
	}
	if err := late.Release(t.Context()); err != nil && !errors.Is(err, store.ErrLive) {
		t.Errorf("release: %v", err)
	}
	if _, err := claim.Append(t.Context(), 2, r.events[2:]); err != nil {
		t.Error(err)
	}
	if err := claim.Release(t.Context()); err != nil {
		t.Error(err)
	}
	compare(t, other, r)
}

// TestLateBeginning is TestLateAppend for the first event of a session that others have recorded and
// deleted meanwhile: it does not come back.
func TestLateBeginning(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	r := newRecording(t)
	old := openWith(t, c.URL(stream, ""), time.Second)
	late := mustClaim(t, old, r.id)
	c.Nodes[0].Proxy.Freeze()
	done := make(chan error)
	go func() {
		_, err := late.Append(t.Context(), 0, r.events)
		done <- err
	}()
	other := openStore(t, c.DirectURL(stream, ""))
	wait(t, "the session is recorded by another", func() error {
		_, err := other.Append(t.Context(), r.id, 0, r.events)
		return err
	})
	if err := other.Delete(t.Context(), r.id); err != nil {
		t.Fatal(err)
	}
	c.Nodes[0].Proxy.Heal()
	if err := <-done; !errors.Is(err, store.ErrLive) {
		t.Errorf("the append that came late: %v", err)
	}
	if head, err := other.Head(t.Context(), r.id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head %v, %v; want none", head, err)
	}
	if _, err := other.Append(t.Context(), r.id, 0, r.events); !errors.Is(err, store.ErrExists) {
		t.Errorf("append: %v", err)
	}
}

// TestDeadHolder leaves a session claimed, and holds that it is live until the lease ends, and that a
// follower ends with it.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	r := newRecording(t)
	r.events = append(r.events, r.frame(1000))
	reader := openStore(t, c.DirectURL(stream, ""))
	holder := openWith(t, c.DirectURL(stream, ""), 5*time.Second)
	claim := mustClaim(t, holder, r.id)
	if _, err := claim.Append(t.Context(), 0, r.events); err != nil {
		t.Fatal(err)
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	state := func() (state store.State) {
		for x, err := range reader.Sessions(t.Context(), store.Query{Prefix: string(r.id)}) {
			if err != nil {
				t.Fatal(err)
			}
			state = x.State
		}
		return state
	}
	if got := state(); got != store.Live {
		t.Errorf("right after the holder's end the session is %s", got)
	}
	seen := 0
	for _, err := range reader.Read(t.Context(), r.id, 0, store.ReadOptions{Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
	}
	if got := state(); seen != len(r.events) || got != store.Crashed {
		t.Errorf("followed %d events of %d, and then the session is %s", seen, len(r.events), got)
	}
	if _, err := reader.Append(t.Context(), r.id, 2, []store.Event{r.frame(100)}); err != nil {
		t.Errorf("append after the lease: %v", err)
	}
}

// TestListingAgrees holds that every way to list gives the same sessions: all of them, the first ones by
// their ids, those of a prefix, and one.
func TestListingAgrees(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	s := openStore(t, c.DirectURL(stream, ""))
	random := rand.New(rand.NewPCG(7, 7))
	began := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for n := range 120 {
		start := began.Add(time.Duration(random.IntN(1000)) * time.Second)
		header := store.Header{Start: start, Transport: "stdio", Label: fmt.Sprint(n)}
		if told := start.Add(time.Duration(random.IntN(15000)-7500) * time.Millisecond); n%4 != 0 {
			header.ID = store.SessionID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", told.UnixMilli()>>16, told.UnixMilli()&0xffff, n))
		} else { // its id tells nothing, or something else
			header.ID = store.SessionID(fmt.Sprintf("%08x-0000-%d000-8000-%012x", random.Uint32(), 4+n%8, n))
		}
		opening := store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()}
		claim, err := s.Claim(t.Context(), header.ID)
		if err != nil {
			t.Fatal(err)
		}
		if n%5 != 0 { // others never begin
			if _, err := claim.Append(t.Context(), 0, []store.Event{opening}); err != nil {
				t.Fatal(err)
			}
		}
		if n%3 != 0 { // others stay live
			if err := claim.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n%7 == 1 && n%3 != 0 && n%5 != 0 {
			if err := s.Delete(t.Context(), header.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := func(query store.Query) (ids []string) {
		for x, err := range s.Sessions(t.Context(), query) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, fmt.Sprint(x.ID, x.State, x.Start, x.Label))
		}
		return ids
	}
	for _, newest := range []bool{false, true} {
		all := list(store.Query{Newest: newest})
		if len(all) < 70 || len(all) > 96 {
			t.Fatalf("%d sessions", len(all))
		}
		for limit := 1; limit <= len(all)+1; limit += 3 {
			want := all[:min(limit, len(all))]
			if got := list(store.Query{Newest: newest, Limit: limit}); !slices.Equal(got, want) {
				t.Errorf("newest %v, limit %d:\n got %q\nwant %q", newest, limit, got, want)
			}
		}
		for _, prefix := range []string{"0", "019", "f", all[3][:36], all[9][:12]} {
			want := slices.DeleteFunc(slices.Clone(all), func(x string) bool { return x[:len(prefix)] != prefix })
			if got := list(store.Query{Newest: newest, Prefix: prefix}); !slices.Equal(got, want) {
				t.Errorf("prefix %s:\n got %q\nwant %q", prefix, got, want)
			}
			if got := list(store.Query{Newest: newest, Prefix: prefix, Limit: 2}); !slices.Equal(got, want[:min(2, len(want))]) {
				t.Errorf("two of prefix %s:\n got %q\nwant %q", prefix, got, want)
			}
		}
	}
}

// TestDamagedStream removes, adds and changes messages behind the store's back, and holds that reading
// tells of it.
func TestDamagedStream(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	s := openStore(t, c.DirectURL(stream, ""))
	conn, js := c.Connect()
	defer conn.Close()
	for name, damage := range map[string]func(t *testing.T, messages []*api.RawStreamMsg, chunks api.Stream){
		"a message is gone": func(t *testing.T, messages []*api.RawStreamMsg, chunks api.Stream) {
			if err := chunks.DeleteMsg(t.Context(), messages[5].Sequence); err != nil {
				t.Fatal(err)
			}
		},
		"the first is gone": func(t *testing.T, messages []*api.RawStreamMsg, chunks api.Stream) {
			if err := chunks.DeleteMsg(t.Context(), messages[0].Sequence); err != nil {
				t.Fatal(err)
			}
		},
		"a message is there again": func(t *testing.T, messages []*api.RawStreamMsg, _ api.Stream) {
			again := nats.NewMsg(messages[2].Subject)
			again.Header.Set("Mcprec", messages[2].Header.Get("Mcprec"))
			again.Data = messages[2].Data
			if _, err := js.PublishMsg(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		},
		"a foreign message": func(t *testing.T, messages []*api.RawStreamMsg, _ api.Stream) {
			if _, err := js.Publish(t.Context(), messages[0].Subject, []byte("hello")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording(t)
			claim := mustClaim(t, s, r.id)
			for range 12 {
				after := r.seq()
				if _, err := claim.Append(t.Context(), after-1, r.events[after-1:]); err != nil {
					t.Fatal(err)
				}
				r.events = append(r.events, r.frame(200))
			}
			if err := claim.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			chunks, err := js.Stream(t.Context(), stream)
			if err != nil {
				t.Fatal(err)
			}
			subject := "mcprec.s." + string(r.id)
			var messages []*api.RawStreamMsg
			for seq := uint64(0); ; {
				msg, err := chunks.GetMsg(t.Context(), seq+1, api.WithGetMsgSubject(subject))
				if errors.Is(err, api.ErrMsgNotFound) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				messages = append(messages, msg)
				seq = msg.Sequence
			}
			damage(t, messages, chunks)
			last := error(nil)
			for _, err := range s.Read(t.Context(), r.id, 0, store.ReadOptions{}) {
				last = err
			}
			if !errors.Is(last, store.ErrCorrupt) {
				t.Errorf("read: %v", last)
			}
		})
	}
}

// TestStreamWithoutBatches holds that an append that needs several messages is refused where the stream
// takes no batches, and leaves nothing.
func TestStreamWithoutBatches(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	conn, js := c.Connect()
	defer conn.Close()
	_, err := js.CreateStream(t.Context(), api.StreamConfig{Name: stream, Subjects: []string{"mcprec.s.*"}, Storage: api.FileStorage})
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, c.DirectURL(stream, ""))
	r := newRecording(t)
	large := r.frame(10)
	large.Payload = make([]byte, 3<<20)
	for i := range large.Payload {
		large.Payload[i] = byte(r.random.Uint32())
	}
	if _, err := s.Append(t.Context(), r.id, 0, append(slices.Clone(r.events), large)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("append of %d bytes: %v", len(large.Payload), err)
	}
	if _, err := s.Head(t.Context(), r.id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if _, err := s.Append(t.Context(), r.id, 0, r.events); err != nil {
		t.Error(err)
	}
	compare(t, s, r)
}
