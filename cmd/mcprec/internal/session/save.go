package session

import (
	"context"

	"github.com/mcprec/mcprec/store"
)

// importBatch is how many bytes of payload one Append takes.
const importBatch = 4 << 20

// Save stores the events of a session, at most importBatch bytes at once.
func Save(ctx context.Context, db store.Store, events []store.Event) (store.SessionID, error) {
	header, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		return "", err
	}
	id, err := store.ParseSessionID(string(header.ID))
	if err != nil {
		return "", err
	}
	for len(events) > 0 {
		n, size := 0, 0
		for n < len(events) && size < importBatch {
			size += len(events[n].Payload) + 32
			n++
		}
		if _, err := db.Append(ctx, id, events[0].Seq-1, events[:n]); err != nil {
			return "", err
		}
		events = events[n:]
	}
	return id, nil
}
