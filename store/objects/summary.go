package objects

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
)

// recordVersion is the version of the summary object and of marks. Newer ones are not read.
const recordVersion = 1

// record is the summary object: what a listing needs, and the bytes that [store.Summarizer] keeps.
type record struct {
	Version  int          `json:"mcprec"`
	Header   store.Header `json:"header"`
	Head     recordHead   `json:"head"`
	Frames   uint64       `json:"frames"`
	Bytes    uint64       `json:"bytes"`
	Lost     uint64       `json:"lost,omitempty"`
	Doubtful uint64       `json:"doubtful,omitempty"`
	Exit     string       `json:"exit,omitempty"`
	Summary  []byte       `json:"summary,omitempty"`
}

type recordHead struct {
	Seq    uint64        `json:"seq"`
	At     time.Duration `json:"at_ns"`
	Chain  string        `json:"chain"` // in hex
	Sealed bool          `json:"sealed"`
}

// encodeRecord returns the summary object of a session.
func encodeRecord(session store.Session, data []byte) []byte {
	head := session.Head
	return store.EncodePayload(record{
		Version: recordVersion, Header: session.Header,
		Head:   recordHead{Seq: head.Seq, At: head.At, Chain: hex.EncodeToString(head.Chain[:]), Sealed: head.Sealed},
		Frames: session.Frames, Bytes: session.Bytes, Lost: session.Lost, Doubtful: session.Doubtful, Exit: session.Exit,
		Summary: data,
	})
}

// decodeRecord returns the session and the summary bytes of the summary object of id.
func decodeRecord(id store.SessionID, text []byte) (session store.Session, data []byte, err error) {
	r := record{}
	err = json.Unmarshal(text, &r)
	chain, badChain := hex.DecodeString(r.Head.Chain)
	switch {
	case err == nil && r.Version > recordVersion:
		return session, nil, fmt.Errorf("summary of session %s: format %d: %w", id, r.Version, store.ErrNewer)
	case err != nil:
		return session, nil, fmt.Errorf("summary of session %s: %w: %w", id, store.ErrCorrupt, err)
	case badChain != nil, len(chain) != len(session.Head.Chain), r.Head.Seq == 0, !r.Head.Sealed:
		return session, nil, fmt.Errorf("summary of session %s: no head of a sealed session: %w", id, store.ErrCorrupt)
	case !strings.EqualFold(string(r.Header.ID), string(id)):
		return session, nil, fmt.Errorf("summary of session %s: its header names session %s: %w", id, r.Header.ID, store.ErrCorrupt)
	}
	r.Header.ID = id
	return store.Session{
		Header: r.Header, Head: store.Head{Seq: r.Head.Seq, At: r.Head.At, Chain: [32]byte(chain), Sealed: true},
		Frames: r.Frames, Bytes: r.Bytes, Lost: r.Lost, Doubtful: r.Doubtful, Exit: r.Exit, State: store.Ended,
	}, r.Summary, nil
}

// mark is the mark object of an id.
type mark struct {
	Version int    `json:"mcprec"`
	Day     string `json:"day"`               // of the session
	Deleted bool   `json:"deleted,omitempty"` // the session was deleted and must not come back
}

// mark returns the mark of an id; a zero mark if there is none.
func (b *bucket) mark(ctx context.Context, id store.SessionID) (found mark, err error) {
	text, _, err := b.get(ctx, markKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return mark{}, nil
	}
	if err != nil {
		return mark{}, err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return mark{}, fmt.Errorf("%s: %w: %w", b.url(markKey(id)), store.ErrCorrupt, err)
	}
	if found.Version > recordVersion {
		return mark{}, fmt.Errorf("%s: format %d: %w", b.url(markKey(id)), found.Version, store.ErrNewer)
	}
	return found, nil
}

// putMark writes the mark of an id.
func (b *bucket) putMark(ctx context.Context, id store.SessionID, new mark, when condition) error {
	new.Version = recordVersion
	return b.put(ctx, markKey(id), store.EncodePayload(new), summaryType, when)
}

// maxRecent is the most bytes of summaries in memory.
const maxRecent = 32 << 20

// recent holds the summary bytes that a listing has read, so that Summaries need not read them again.
type recent struct {
	mu    sync.Mutex
	held  map[store.SessionID]store.Summary
	bytes int
}

// keep holds a summary in the place of an older one. It takes no more when it is full.
func (r *recent) keep(summary store.Summary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(summary.ID)
	size := len(summary.Data) + 200
	if r.bytes+size > maxRecent {
		return
	}
	if r.held == nil {
		r.held = map[store.SessionID]store.Summary{}
	}
	r.held[summary.ID] = summary
	r.bytes += size
}

// forget drops the summary of a session.
func (r *recent) forget(id store.SessionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(id)
}

func (r *recent) drop(id store.SessionID) {
	if old, ok := r.held[id]; ok {
		r.bytes -= len(old.Data) + 200
		delete(r.held, id)
	}
}

// get returns the summary of a session with this head.
func (r *recent) get(id store.SessionID, head store.Head) (data []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.held[id]
	if !ok || found.Head != head {
		return nil, false
	}
	return found.Data, true
}
