package stream

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcprec/mcprec/store"
)

const (
	headerName    = "Mcprec" // of our header in a message
	headerVersion = 1
)

// place is a message of a session's subject, and where the log ends behind its events.
type place struct {
	seq         uint64 // in the stream; 0: no message
	first       uint64 // Seq of the first event
	part, parts int    // which part of a chunk the data is, from 1
	head        store.Head
	data        []byte
}

// messageHeader is the header Mcprec.
type messageHeader struct {
	Version int           `json:"v"`
	First   uint64        `json:"first"`
	Last    uint64        `json:"last"`
	Part    int           `json:"part"`
	Parts   int           `json:"parts"`
	At      time.Duration `json:"at"`
	Chain   string        `json:"chain"` // in hexadecimal
	Sealed  bool          `json:"sealed,omitempty"`
}

// header returns the text of the header.
func (p *place) header() string {
	text, _ := json.Marshal(messageHeader{headerVersion, p.first, p.head.Seq, p.part, p.parts, p.head.At, // it can be encoded
		hex.EncodeToString(p.head.Chain[:]), p.head.Sealed})
	return string(text)
}

// parsePlace reads a message of a session.
func parsePlace(msg *message) (p place, err error) {
	headers, err := nats.DecodeHeadersMsg(msg.Headers)
	if err != nil {
		return p, fmt.Errorf("message %d: headers: %w", msg.Seq, store.ErrCorrupt)
	}
	p, err = parseHeader(headers.Get(headerName))
	if err != nil {
		return p, fmt.Errorf("message %d: %w", msg.Seq, err)
	}
	p.seq = msg.Seq
	p.data = msg.Data
	return p, nil
}

// parseHeader reads the header. Its errors wrap store.ErrCorrupt or store.ErrNewer.
func parseHeader(text string) (p place, err error) {
	var h messageHeader
	if json.Unmarshal([]byte(text), &h) != nil {
		return p, fmt.Errorf("its header %.40q: %w", text, store.ErrCorrupt)
	}
	if h.Version > headerVersion {
		return p, fmt.Errorf("header version %d: %w; install a newer mcprec-share", h.Version, store.ErrNewer)
	}
	chain, err := hex.DecodeString(h.Chain)
	if err != nil || len(chain) != len(p.head.Chain) || h.First < 1 || h.First > h.Last || h.Last > 1<<62 || h.Part < 1 || h.Part > h.Parts || h.At < 0 {
		return p, fmt.Errorf("fields of its header: %w", store.ErrCorrupt)
	}
	return place{first: h.First, part: h.Part, parts: h.Parts,
		head: store.Head{Seq: h.Last, At: h.At, Chain: [32]byte(chain), Sealed: h.Sealed}}, nil
}
