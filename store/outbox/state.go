package outbox

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
)

// state is what an outbox knows of a session between two processes: the file <id>.shipped. Without
// it, or with a damaged one, the session is shipped again from its beginning, which changes nothing
// in the shared store, and the hold-back begins anew.
type state struct {
	Version int       `json:"version"`
	Head    headState `json:"head"` // the last acknowledged end of the masked log
	// Acknowledged is when that was, by the clock of this machine, and by its uptime, if the system
	// tells that: Boot names the time since its start.
	Acknowledged time.Time     `json:"acknowledged"`
	Boot         string        `json:"boot,omitempty"`
	Uptime       time.Duration `json:"uptime_ns,omitempty"`
	Bytes        int64         `json:"bytes"` // of the session's payloads up to Head
	// Complete says that the shared store has acknowledged the whole session, and its recorder is
	// gone.
	Complete bool `json:"complete,omitempty"`
	// Cut has the events that were too large, with the bytes of the payload that were shipped.
	Cut map[uint64]int `json:"cut,omitempty"`
	// Stopped says why nobody ships the session any more; "": somebody will.
	Stopped string `json:"stopped,omitempty"`
}

const stateVersion = 1

// headState is a store.Head in JSON.
type headState struct {
	Seq    uint64        `json:"seq"`
	At     time.Duration `json:"at_ns"`
	Chain  chain         `json:"chain"`
	Sealed bool          `json:"sealed,omitempty"`
}

// chain is the chain of a head, in hexadecimal.
type chain [32]byte

// MarshalText returns the chain in hexadecimal.
func (c chain) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, c[:]), nil }

// UnmarshalText reads a chain in hexadecimal.
func (c *chain) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(c[:], text[:min(len(text), 64)]); err != nil || n != len(c) || len(text) != 64 {
		return fmt.Errorf("chain %q: not 32 bytes in hexadecimal", text)
	}
	return nil
}

func (h headState) head() store.Head {
	return store.Head{Seq: h.Seq, At: h.At, Chain: [32]byte(h.Chain), Sealed: h.Sealed}
}

// parseState reads a state; one that cannot be read is an empty one.
func parseState(data []byte) state {
	var s state
	if json.Unmarshal(data, &s) != nil || s.Version != stateVersion {
		return state{Version: stateVersion}
	}
	return s
}

func (s *state) encode() []byte {
	return append(store.EncodePayload(s), '\n')
}

// clock is a reading of the clocks of the machine.
type clock struct {
	now    time.Time
	boot   string        // names the time since the start of the machine; "": the uptime is not known
	uptime time.Duration // since the start of the machine, with the time of its sleep
}

// acknowledge notes a new end of the shared log.
func (s *state) acknowledge(head store.Head, bytes int64, at clock) {
	s.Head = headState{Seq: head.Seq, At: head.At, Chain: chain(head.Chain), Sealed: head.Sealed}
	s.Bytes = bytes
	s.Acknowledged = at.now
	s.Boot = at.boot
	s.Uptime = at.uptime
}

// elapsed returns for how long, at least, the last acknowledgement has been over. Where the uptime is
// known the clock does not count, which may jump: since the acknowledgement the machine has run for
// the difference of the uptimes, or, if it was started again, for all of its uptime. Elsewhere the
// clock counts, and ok is false if it was set back: then the hold-back begins anew.
func (s *state) elapsed(at clock) (elapsed time.Duration, ok bool) {
	switch {
	case at.boot != "" && at.boot == s.Boot:
		return max(at.uptime-s.Uptime, 0), true
	case at.boot != "" && s.Boot != "":
		return at.uptime, true
	}
	elapsed = at.now.Sub(s.Acknowledged)
	return max(elapsed, 0), elapsed >= 0
}
