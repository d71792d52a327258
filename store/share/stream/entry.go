package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
)

// Entry is what a push last told of a session.
type Entry struct {
	Header  store.Header `json:"session"` // masked
	Head    store.Head   `json:"-"`       // of the log, as far as the stream had acknowledged it
	Seq     uint64       `json:"seq"`
	Sealed  bool         `json:"sealed,omitempty"`
	Machine string       `json:"machine"` // that pushes it
	// Live says that the push follows the recorder, and goes on to tell so: at LiveUntil, by this machine's
	// clock, the session is live no more unless another entry has come.
	Live      bool          `json:"live,omitempty"`
	Lease     time.Duration `json:"lease_ns,omitempty"`
	LiveUntil time.Time     `json:"-"`
	// Stuck is for how long something has been stuck in a live session, as mcprec why finds it; 0: nothing is.
	Stuck time.Duration `json:"stuck_ns,omitempty"`
	// Clock is the time of the machine that pushes when it wrote this. Ahead is how far that clock seems to be
	// ahead of this machine's; less than clockNoise is 0. An entry that was long on its way seems to come from
	// a clock that is behind: two entries that agree are to be believed.
	Clock time.Time     `json:"clock"`
	Ahead time.Duration `json:"-"`
}

// ID returns the session's id.
func (e *Entry) ID() store.SessionID { return e.Header.ID }

// clockNoise is how much a clock may differ without being told as wrong: an entry can be on its way for as long as
// an election takes.
const clockNoise = 10 * time.Second

// Tell puts an entry in the place of the session's last one. A live entry is for Options.Lease.
func (s *Stream) Tell(ctx context.Context, e Entry) error {
	e.Seq = e.Head.Seq
	e.Sealed = e.Head.Sealed
	if e.Live {
		e.Lease = s.options.lease()
	}
	err := s.retry(ctx, func(ctx context.Context) error {
		e.Clock = time.Now()
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = s.js.Publish(ctx, s.entrySubject(e.ID()), data, api.WithRetryAttempts(0))
		return err
	})
	if err != nil {
		return fmt.Errorf("entry of session %s: %w", e.ID(), err)
	}
	return nil
}

// now returns the time of the leader's clock, and how many entries there are.
func (s *Stream) now(ctx context.Context) (now time.Time, state api.StreamState, err error) {
	err = s.retry(ctx, func(ctx context.Context) error {
		handle, err := s.js.Stream(ctx, s.entries)
		if err != nil {
			return err
		}
		now, state = handle.CachedInfo().TimeStamp, handle.CachedInfo().State
		return nil
	})
	return now, state, err
}

// Entries yields the newest entry of each session, and with follow those that come. An error ends the sequence.
func (s *Stream) Entries(ctx context.Context, follow bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := s.eachEntry(ctx, follow, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, fmt.Errorf("list sessions: %w", err))
		}
	}
}

// mostEntries is how many sessions are listed, and mostListed how many bytes all that is told of them has: a
// header has some hundred.
const (
	mostEntries = 1 << 20
	mostListed  = 1 << 30
)

// listing is a list of the entries that were there when it began. Others may come for as long as it is read.
type listing struct {
	last  uint64 // the stream sequence of the newest one
	count int
	bytes int
}

// take takes the next entry, of so many bytes, behind which so many are pending, and reports whether it is the last. A list without an
// end is an error.
func (l *listing) take(size int, seq, pending uint64) (isLast bool, err error) {
	if l.count++; l.count > mostEntries {
		return false, fmt.Errorf("the NATS server lists more than %d sessions: %w", mostEntries, errTooMuch)
	}
	if l.bytes += size; l.bytes > mostListed {
		return false, fmt.Errorf("the NATS server tells more than %d MiB of its sessions: %w", mostListed>>20, errTooMuch)
	}
	return pending == 0 || seq >= l.last, nil
}

func (s *Stream) eachEntry(ctx context.Context, follow bool, yield func(Entry) bool) error {
	began, state, err := s.now(ctx)
	if err != nil {
		return err
	}
	here := time.Now()
	ahead := began.Sub(here) // of the servers' clock
	caughtUp := state.LastSeq == 0 || state.Msgs == 0
	if caughtUp && !follow {
		return nil
	}
	config := api.OrderedConsumerConfig{DeliverPolicy: api.DeliverLastPerSubjectPolicy, FilterSubjects: []string{s.subjects + "m.*"}, InactiveThreshold: consumerIdle}
	seen := uint64(0) // the stream sequence of the newest entry
	begun := listing{last: state.LastSeq}
	for {
		messages, stop, err := s.consume(ctx, s.entries, config)
		if err != nil {
			return err
		}
		for again := false; !again; {
			once, cancel := context.WithTimeout(ctx, lookEach)
			msg, err := messages.Next(api.NextContext(once))
			late := once.Err() != nil
			cancel()
			switch {
			case ctx.Err() != nil:
				stop()
				return ctx.Err()
			case err != nil && late: // has the consumer missed something?
				missed, err := s.get(ctx, s.entries, getRequest{Seq: seen + 1, NextFor: config.FilterSubjects[0]})
				var now api.StreamState
				if err == nil {
					_, now, err = s.now(ctx)
				}
				if err != nil {
					stop()
					return err
				}
				again = missed != nil || now.LastSeq < seen
				if !again && !caughtUp { // the last ones were deleted meanwhile
					caughtUp = true
					if !follow {
						stop()
						return nil
					}
				}
				continue
			case err != nil:
				again = true
				if err := s.lastingError(ctx, err); err != nil {
					stop()
					return err
				}
				continue
			}
			facts, err := msg.Metadata()
			if err != nil {
				stop()
				return err
			}
			seen = facts.Sequence.Stream
			arrived := time.Now()
			written := facts.Timestamp.Add(-ahead) // by this machine's clock
			if caughtUp {
				written = arrived // whichever server told the time
			}
			if !caughtUp {
				if caughtUp, err = begun.take(len(msg.Data()), seen, facts.NumPending); err != nil {
					stop()
					return err
				}
			}
			var e Entry
			isForeign := json.Unmarshal(msg.Data(), &e) != nil || s.entrySubject(e.ID()) != msg.Subject()
			e.Head = store.Head{Seq: e.Seq, Sealed: e.Sealed}
			e.LiveUntil = written.Add(e.Lease)
			if clock := e.Clock.Sub(written); clock.Abs() > clockNoise && !e.Clock.IsZero() {
				e.Ahead = clock
			}
			if !isForeign && !yield(e) || caughtUp && !follow {
				stop()
				return nil
			}
		}
		stop()
		if seen > 0 {
			_, now, err := s.now(ctx)
			if err != nil {
				return err
			}
			if now.LastSeq < seen { // a power cut took entries back, and others come
				seen = now.LastSeq
			}
			config.DeliverPolicy = api.DeliverByStartSequencePolicy
			config.OptStartSeq = seen + 1
		}
	}
}

// IsLive reports whether the push still follows the session's recorder.
func (e *Entry) IsLive() bool { return e.Live && time.Now().Before(e.LiveUntil) }

// Place names the streams for messages, without credentials.
func (s *Stream) Place() string { return s.options.URL() }

// Limits says what the stream of chunks holds, and its bounds: "12 GB of 110 GB, none older than 720h".
type Limits struct {
	Sessions  uint64
	Bytes     uint64
	MaxBytes  int64 // 0: none
	MaxAge    time.Duration
	Replicas  int
	Followers []string // replicas that are not current
}

// Limits asks for the state of the streams.
func (s *Stream) Limits(ctx context.Context) (l Limits, err error) {
	_, state, err := s.now(ctx)
	if err != nil {
		return l, err
	}
	l.Sessions = state.Msgs
	err = s.retry(ctx, func(ctx context.Context) error {
		handle, err := s.js.Stream(ctx, s.chunks)
		if err != nil {
			return err
		}
		info := handle.CachedInfo()
		l.Bytes, l.MaxBytes, l.MaxAge, l.Replicas = info.State.Bytes, max(info.Config.MaxBytes, 0), info.Config.MaxAge, info.Config.Replicas
		if info.Cluster != nil {
			for _, replica := range info.Cluster.Replicas {
				if replica.Offline || !replica.Current {
					l.Followers = append(l.Followers, strings.TrimSpace(replica.Name))
				}
			}
		}
		return nil
	})
	return l, err
}
