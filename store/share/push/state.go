package push

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

// state is what a push knows of a session between two processes: the file <id>.json. Without it, or with a
// damaged one, the session is shipped again from its beginning, which changes nothing in the stream, and the
// hold-back begins anew.
type state struct {
	Version int       `json:"version"`
	Head    headState `json:"head"` // the last acknowledged end of the masked log
	// Acknowledged is when that was, by the clock of this machine, and by its uptime, if the system
	// tells that: Boot names the time since its start.
	Acknowledged time.Time     `json:"acknowledged"`
	Boot         string        `json:"boot,omitempty"`
	Uptime       time.Duration `json:"uptime_ns,omitempty"`
	// Complete says that the stream has acknowledged the whole session, and its recorder is gone. Done says
	// that it still showed it after the hold-back.
	Complete bool `json:"complete,omitempty"`
	Done     bool `json:"done,omitempty"`
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

// acknowledge notes a new end of the log in the stream.
func (s *state) acknowledge(head store.Head, at clock) {
	s.Head = headState{Seq: head.Seq, At: head.At, Chain: chain(head.Chain), Sealed: head.Sealed}
	s.Acknowledged = at.now
	s.Boot = at.boot
	s.Uptime = at.uptime
}

// elapsed returns the least time that has passed since the last acknowledgement. Where the uptime is
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

// states is the folder of a push's own files.
type states string

func (dir states) path(id store.SessionID) string {
	return filepath.Join(string(dir), string(id)+".json")
}

// read returns the state of a session.
func (dir states) read(id store.SessionID) (state, error) {
	data, err := os.ReadFile(dir.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return parseState(data), err
}

// keep writes the state of a session. It is durable on return.
func (dir states) keep(id store.SessionID, s *state) error {
	temp := dir.path(id) + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(s.encode())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, dir.path(id))
	}
	return err
}

// forget removes the states of sessions that are not in the folder any more.
func (dir states) forget(known func(store.SessionID) bool) error {
	entries, err := os.ReadDir(string(dir))
	for _, entry := range entries {
		name, isState := strings.CutSuffix(entry.Name(), ".json")
		if isState && !known(store.SessionID(name)) {
			err = errors.Join(err, os.Remove(filepath.Join(string(dir), entry.Name())))
		}
	}
	return err
}
