package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/external/webserver"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Shown is one play as it went, for those who want to see it, or to have it without mcprec.
type Shown struct {
	Token   string   // of the play
	Finding *Finding // nil: the play shows nothing
	Moves   []Move
	Until   time.Duration // when mcprec waited no longer for what did not come; 0: the play did not end so

	from transport.Direction        // of what the recorded end sends
	ids  map[uint64]json.RawMessage // of the recorded end's requests, by their events
}

// Move is one thing that happened in a play.
type Move struct {
	Kind   MoveKind
	At     time.Duration // since the process was started
	Frames [][]byte      // of Wrote and of Heard, without newlines
	Seqs   []uint64      // of Wrote: the recorded event of each frame; 0: it is not recorded
	Split  int           // of Wrote: behind so many bytes the rest goes out by itself; 0: it does not
	Busy   bool          // of Rested: an answer is owed, and a timer of the process may bring it
	Exit   store.ExitInfo

	Exchange uint64          // over HTTP, of a client under test: its number, from 1; of Wrote, Heard and Exchanged
	HTTP     *store.HTTPInfo // of Exchanged
}

// MoveKind is a kind of move.
type MoveKind int

// The kinds of moves.
const (
	Wrote     MoveKind = iota // the recorded end sent these in one write
	Heard                     // the process sent this
	Rested                    // the process came to rest
	Muted                     // the recorded end reads nothing from here on
	Unmuted                   // it reads again
	Ended                     // it closed its output
	Shut                      // it closed its input: it reads no more
	Logged                    // it wrote lines to its standard error
	Signaled                  // it sent SIGTERM to the process
	Left                      // the process ended
	Exchanged                 // something passed over HTTP that is no frame
)

// trace notes the moves of a play. A nil trace notes nothing: most plays are forgotten at once.
type trace struct {
	began time.Time
	moves []Move
	until time.Duration // see Shown
}

func newTrace(isKept bool) *trace {
	if !isKept {
		return nil
	}
	return &trace{began: time.Now()}
}

func (t *trace) add(kind MoveKind, frames ...[]byte) {
	if t != nil {
		t.moves = append(t.moves, Move{Kind: kind, At: time.Since(t.began), Frames: frames})
	}
}

// wrote notes a write.
func (t *trace) wrote(chunk []sending) {
	if t == nil || len(chunk) == 0 { // another client has written, which a trace leaves out
		return
	}
	m := Move{Kind: Wrote, At: time.Since(t.began)}
	for _, s := range chunk {
		m.Frames = append(m.Frames, s.frame.Bytes)
		m.Seqs = append(m.Seqs, s.seq)
	}
	t.moves = append(t.moves, m)
}

// heard notes a frame of a client.
func (t *trace) heard(f transport.Frame) {
	if t != nil {
		t.moves = append(t.moves, Move{Kind: Heard, At: time.Since(t.began), Frames: [][]byte{f.Bytes}, Exchange: f.Stream})
	}
}

// exchanged notes what passed over HTTP beside the frames of the client.
func (t *trace) exchanged(note webserver.Note) {
	move := Move{Kind: Exchanged, At: time.Since(t.began), Exchange: note.Exchange, HTTP: note.HTTP}
	if f := note.Frame; f != nil {
		move.Kind, move.Frames, move.Seqs = Wrote, [][]byte{f.Said}, []uint64{f.Seq}
	}
	t.moves = append(t.moves, move)
}

// isTooShort reports whether the play of a finding goes on, though nothing can move: package why calls a session
// hung only after it has waited for some time.
func (t *trace) isTooShort(patience child.Patience) bool {
	if t == nil || patience != child.Confirming || len(t.moves) == 0 {
		return false
	}
	last := time.Duration(0)
	for _, m := range t.moves {
		if m.Kind == Wrote || m.Kind == Heard {
			last = m.At
		}
	}
	return time.Since(t.began)-last < min(max(why.Patience, 2*last), why.MostPatience)+100*time.Millisecond
}

// giveUp notes that mcprec waits no longer for what does not come.
func (t *trace) giveUp(found *fault) {
	if t != nil && found != nil && found.kind == Hang {
		t.until = time.Since(t.began)
	}
}

// rest notes that the process has come to rest, and whether it owes an answer then.
func (t *trace) rest(isOwed bool) {
	if t != nil && len(t.moves) > 0 && t.moves[len(t.moves)-1].Kind != Rested {
		t.add(Rested)
		t.moves[len(t.moves)-1].Busy = isOwed
	}
}

// split notes that the last write was split.
func (t *trace) split(at int) {
	if t != nil && at > 0 {
		t.moves[len(t.moves)-1].Split = at
	}
}

// mute notes whether the recorded end reads, where that changes.
func (t *trace) mute(isMuted bool) {
	if t == nil {
		return
	}
	wasMuted := false
	for _, m := range t.moves {
		wasMuted = m.Kind == Muted || wasMuted && m.Kind != Unmuted
	}
	if isMuted && !wasMuted {
		t.add(Muted)
	} else if !isMuted && wasMuted {
		t.add(Unmuted)
	}
}

// leave notes how the process ended, if it ended by itself.
func (t *trace) leave(p *child.Process) {
	if t == nil || !p.IsGone() || p.IsStopped() {
		return
	}
	exit := store.ExitInfo{}
	if p.Status() != "" {
		exit.Code = -1
		var status *exec.ExitError
		if errors.As(p.Exit(), &status) {
			exit.Code = status.ExitCode()
		}
	}
	if signal, isBySignal := strings.CutPrefix(p.Status(), "signal: "); isBySignal {
		exit.Signal = signal
	}
	t.add(Left)
	t.moves[len(t.moves)-1].Exit = exit
}

// show keeps a play, with its finding if it has one.
func (x *explorer) show(token string, f *Finding, played play) {
	if played.trace == nil || x.report.Shown != nil && x.report.Shown.Finding != nil {
		return
	}
	s := &Shown{Token: token, Finding: f, Moves: played.trace.moves, Until: played.trace.until, from: transport.ClientToServer, ids: map[uint64]json.RawMessage{}}
	if x.peer.name() == "client" {
		s.from = transport.ServerToClient
	}
	for _, f := range played.frames {
		s.ids[f.seq] = f.id
	}
	x.report.Shown = s
}

// Events returns the play as a session under a header. The numbers in its note are those of its own events.
func (s *Shown) Events(header store.Header) []store.Event {
	events := []store.Event{{Kind: store.Opened, Payload: header.Encode()}}
	add := func(kind store.Kind, dir transport.Direction, payload []byte, at time.Duration) {
		events = append(events, store.Event{Kind: kind, Dir: dir, At: at, Payload: payload})
	}
	if s.Finding != nil {
		add(store.Note, transport.NoDirection, nil, 0)
	}
	frames, last := uint64(0), time.Duration(0)
	numbers := map[uint64]int{} // in this session, by those in the recording
	for _, m := range s.Moves {
		last = max(m.At, s.Until)
		switch m.Kind {
		case Wrote, Heard:
			dir := s.from
			if m.Kind == Heard {
				dir = s.from.Reverse()
			}
			for i, frame := range m.Frames {
				add(store.Frame, dir, frame, m.At)
				events[len(events)-1].Stream = m.Exchange
				frames++
				if i < len(m.Seqs) && m.Seqs[i] != 0 {
					numbers[m.Seqs[i]] = len(events)
				}
			}
		case Exchanged:
			add(store.HTTP, m.httpDirection(), store.EncodePayload(m.HTTP), m.At)
			events[len(events)-1].Stream = m.Exchange
		case Ended:
			add(store.EOF, s.from, store.EncodePayload(store.EOFInfo{By: "sender"}), m.At)
		case Shut:
			add(store.EOF, s.from.Reverse(), store.EncodePayload(store.EOFInfo{By: "receiver"}), m.At)
		case Logged:
			add(store.Stderr, transport.NoDirection, fmt.Appendf(nil, "%d KiB of lines\n", errorLines>>10), m.At)
		case Signaled:
			add(store.Signal, transport.NoDirection, store.EncodePayload(store.SignalInfo{Signal: "terminated", Passed: true}), m.At)
		case Left:
			add(store.Exited, transport.NoDirection, store.EncodePayload(m.Exit), m.At)
		}
	}
	hasEnded := slices.ContainsFunc(events, func(e store.Event) bool { return e.Kind == store.EOF || e.Kind == store.Exited })
	if s.Until > 0 && !hasEnded { // mcprec has gone then
		add(store.EOF, s.from, store.EncodePayload(store.EOFInfo{By: "sender"}), last)
	}
	add(store.Closed, transport.NoDirection, store.EncodePayload(store.ClosedInfo{Frames: frames}), last)
	for i := range events {
		events[i].Seq = uint64(i + 1)
		if events[i].Kind == store.Note {
			events[i].Payload = store.EncodePayload(store.NoteInfo{Text: renumbered(strings.ReplaceAll(strings.TrimSpace(s.Finding.words()), "\n  ", "; "), numbers)})
		}
	}
	return events
}

// httpDirection returns who did what passed over HTTP.
func (m Move) httpDirection() transport.Direction {
	if m.HTTP.What == store.HTTPRequest || m.HTTP.What == store.HTTPAbort {
		return transport.ClientToServer
	}
	return transport.ServerToClient
}

// eventNumber is the number of an event in a text.
var eventNumber = regexp.MustCompile(`#[0-9]+`)

// renumbered returns a text with other numbers of events, each by the one that stands there.
func renumbered(text string, numbers map[uint64]int) string {
	return eventNumber.ReplaceAllStringFunc(text, func(word string) string {
		seq, _ := strconv.ParseUint(word[1:], 10, 64)
		if number := numbers[seq]; number != 0 {
			return "#" + strconv.Itoa(number)
		}
		return word
	})
}

// Masked returns the play with its messages as a function returns them, which gets them in their order.
func (s *Shown) Masked(mask func(store.Event) store.Event) *Shown {
	masked := *s
	masked.Moves = make([]Move, len(s.Moves))
	seq := uint64(1)
	for i, m := range s.Moves {
		dir := s.from
		if m.Kind == Heard {
			dir = s.from.Reverse()
		}
		frames := make([][]byte, len(m.Frames))
		for k, frame := range m.Frames {
			seq++
			frames[k] = mask(store.Event{Seq: seq, Kind: store.Frame, Dir: dir, At: m.At, Payload: frame}).Payload
		}
		m.Frames = frames
		masked.Moves[i] = m
	}
	return &masked
}
