package jetstream

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
)

// summaryMark is the last part of the subject of a session's summary.
const summaryMark = "summary"

// The binary form of a summary, version 1: the version, the head's Seq as a varint, its chain
// (32 bytes), and the summary.
const summaryVersion = 1

// keep keeps a summary if the session has exactly its head.
func (m *meta) keep(ctx context.Context, g *logs, x store.Summary) error {
	id, err := store.ParseSessionID(string(x.ID))
	if err != nil {
		return err
	}
	end, err := g.last(ctx, id)
	if err != nil || end.session.Head != x.Head || x.Head.Seq == 0 {
		return err
	}
	data := binary.AppendUvarint([]byte{summaryVersion}, x.Head.Seq)
	data = append(data, x.Head.Chain[:]...)
	data = append(data, x.Data...)
	return m.retry(ctx, func(ctx context.Context) error {
		_, err := m.js.Publish(ctx, m.prefix+string(id)+"."+summaryMark, data, api.WithRetryAttempts(0))
		return err
	})
}

// keepAll keeps summaries, many at once.
func (m *meta) keepAll(ctx context.Context, g *logs, list []store.Summary) error {
	var mu sync.Mutex
	var problem error
	inParallel(list, looksAtOnce, func(x store.Summary) {
		if err := m.keep(ctx, g, x); err != nil {
			mu.Lock()
			defer mu.Unlock()
			problem = fmt.Errorf("of session %s: %w", x.ID, err)
		}
	})
	return problem
}

// summaries returns the summaries of sessions.
func (m *meta) summaries(ctx context.Context, sessions []store.Session) (map[store.SessionID][]byte, error) {
	kept := map[store.SessionID][]byte{}
	heads := map[store.SessionID]store.Head{}
	subjects := make([]string, len(sessions))
	for i, x := range sessions {
		heads[x.ID] = x.Head
		subjects[i] = m.prefix + string(x.ID) + "." + summaryMark
	}
	// A server that lags behind may lack the newest summaries; the caller makes what is missing.
	err := m.newest(ctx, subjects, 0, func(msg *nats.Msg) {
		id := m.sessionOf(msg.Header.Get(api.SubjectHeader))
		if data, ok := summaryOf(heads[id], msg.Data); ok {
			kept[id] = data
		}
	})
	return kept, err
}

// summaryOf returns the summary in data if its head is this one.
func summaryOf(head store.Head, data []byte) ([]byte, bool) {
	if len(data) == 0 || data[0] != summaryVersion || head.Seq == 0 {
		return nil, false
	}
	reader := varint.NewReader(data[1:])
	seq := reader.Uint()
	chain := reader.Take(uint64(len(head.Chain)))
	if reader.Bad() || seq != head.Seq || [32]byte(chain) != head.Chain {
		return nil, false
	}
	return slices.Clone(reader.Rest()), true
}
