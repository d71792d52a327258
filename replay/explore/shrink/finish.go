package shrink

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/mcprec/mcprec/store"
)

// finish makes a session of its own of a candidate: with an id of its own, and
// without the expectations that the whole session had.
func (s *shrink) finish(events []store.Event) []store.Event {
	if len(s.opened) == 0 {
		return events
	}
	h, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		return events
	}
	hash := sha256.New()
	for _, e := range events {
		hash.Write(e.Payload)
	}
	h.ID, h.Expect = derived(h.ID, hash.Sum(nil)), ""
	events = slices.Clone(events)
	events[0].Payload = h.Encode()
	return events
}

// derived returns a version 7 id with the time of another and digits of a hash,
// so that the same session has the same id.
func derived(id store.SessionID, hash []byte) store.SessionID {
	if _, err := id.Bytes(); err != nil {
		return id
	}
	digits := hex.EncodeToString(hash)
	return id[:14] + store.SessionID("7"+digits[:3]+"-8"+digits[3:6]+"-"+digits[6:18])
}
