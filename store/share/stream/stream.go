package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/store"
)

// Stream is the sessions of a team, in two streams of JetStream. Use Open. The methods are safe for concurrent
// use, and any number of processes may use the streams.
type Stream struct {
	*link
	chunks, entries string // names of the streams
	subjects        string // the prefix of all subjects, "mcprec."
	room            int    // of a message, in bytes of a chunk
	batches         bool   // the stream of chunks takes atomic batches
	Replicas        int

	mu   sync.Mutex
	ends map[store.SessionID]place // where the logs end that this process appends to
}

// Open connects to the servers, and finds the streams, or makes them if the options say so.
func Open(ctx context.Context, options Options) (*Stream, error) {
	failed := func(err error) (*Stream, error) {
		return nil, options.hidden(fmt.Errorf("open %s: %w", options.URL(), err))
	}
	if len(options.Servers) == 0 {
		return failed(errors.New("no server is named"))
	}
	l, err := dial(ctx, options)
	if err != nil {
		return failed(err)
	}
	s := &Stream{link: l, ends: map[store.SessionID]place{}}
	if err = l.checkAccount(ctx); err == nil {
		err = s.openStreams(ctx)
	}
	if err != nil {
		l.conn.Close()
		return failed(err)
	}
	return s, nil
}

// checkAccount refuses a user of another account than the options name.
func (l *link) checkAccount(ctx context.Context) error {
	if l.options.Account == "" {
		return nil
	}
	return l.retry(ctx, func(ctx context.Context) error {
		answer, err := l.conn.RequestWithContext(ctx, "$SYS.REQ.USER.INFO", nil)
		if err != nil {
			return fmt.Errorf("ask for the account: %w", err)
		}
		var got struct {
			Data struct {
				Account string `json:"account"`
				Name    string `json:"account_name"`
			} `json:"data"`
		}
		if err := json.Unmarshal(answer.Data, &got); err != nil {
			return fmt.Errorf("ask for the account: %w", err)
		}
		if want := l.options.Account; got.Data.Account != want && got.Data.Name != want {
			return fmt.Errorf("the user is in account %s, not in %s", strings.TrimSpace(got.Data.Account+" "+got.Data.Name), want)
		}
		return nil
	})
}

// Close ends the connection.
func (s *Stream) Close() error {
	s.conn.Close()
	return nil
}

// Head returns the end of a log, from the leader; store.ErrNotFound if there is none.
func (s *Stream) Head(ctx context.Context, id store.SessionID) (store.Head, error) {
	end, err := s.last(ctx, id)
	if err == nil && end.seq == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Head{}, fmt.Errorf("head of session %s: %w", id, err)
	}
	return end.head, nil
}

func (s *Stream) chunkSubject(id store.SessionID) string { return s.subjects + "s." + string(id) }
func (s *Stream) entrySubject(id store.SessionID) string { return s.subjects + "m." + string(id) }

// last returns the last message of a session, from the leader; its seq is 0 if there is none.
func (s *Stream) last(ctx context.Context, id store.SessionID) (place, error) {
	return s.ask(ctx, getRequest{LastFor: s.chunkSubject(id)})
}

// next returns the first message of a session from a sequence of the stream on; its seq is 0 if there is none.
func (s *Stream) next(ctx context.Context, id store.SessionID, seq uint64) (place, error) {
	return s.ask(ctx, getRequest{Seq: seq, NextFor: s.chunkSubject(id)})
}

func (s *Stream) ask(ctx context.Context, request getRequest) (place, error) {
	msg, err := s.get(ctx, s.chunks, request)
	if err != nil || msg == nil {
		return place{}, err
	}
	return parsePlace(msg)
}

// endOf returns where a log ends as far as this process knows.
func (s *Stream) endOf(id store.SessionID) (end place, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, known = s.ends[id]
	return end, known
}

// setEnd keeps where a log ends, without the data of its message, until it is sealed.
func (s *Stream) setEnd(id store.SessionID, end place) {
	end.data = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if end.head.Sealed {
		delete(s.ends, id)
	} else {
		s.ends[id] = end
	}
}

func (s *Stream) forgetEnd(id store.SessionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ends, id)
}
