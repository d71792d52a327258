package session

import (
	"context"
	"fmt"
	"iter"

	"github.com/mcprec/mcprec/store"
)

// importBatch is how many bytes of payload one Append takes.
const importBatch = 4 << 20

// Save stores the events of a session, at most importBatch bytes at once. It keeps no more of them.
func Save(ctx context.Context, db store.Store, events iter.Seq2[store.Event, error]) (id store.SessionID, err error) {
	var batch []store.Event
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := db.Append(ctx, id, batch[0].Seq-1, batch)
		clear(batch)
		batch = batch[:0]
		size = 0
		return err
	}
	for e, err := range events {
		if err == nil && id == "" {
			id, err = idOf(e)
		}
		if err != nil {
			return "", err
		}
		batch = append(batch, e)
		if size += len(e.Payload) + 32; size < importBatch {
			continue
		}
		if err := flush(); err != nil {
			return "", err
		}
	}
	if id == "" {
		return "", fmt.Errorf("save a session: it has no events")
	}
	if err := flush(); err != nil {
		return "", err
	}
	return id, nil
}

// idOf returns the id of a session from its first event.
func idOf(first store.Event) (store.SessionID, error) {
	header, err := store.ParseHeader(first.Payload)
	if err != nil {
		return "", err
	}
	return store.ParseSessionID(string(header.ID))
}
