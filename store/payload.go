package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// FormatVersion is the version of the event model, the "mcprec" field of every header. Newer
// versions are refused, older ones are read for ever.
const FormatVersion = 1

// Header is the payload of the Opened event, as JSON on one line in this field order, and the
// first line of a fixture. Unknown fields stay in the payload. boltstore/dbtx.go encodes the
// fields one by one for listings, without Processes, MaxFrame, Redacted and the rules of Masked.
type Header struct {
	Version   int       `json:"mcprec"`
	ID        SessionID `json:"id"`
	Start     time.Time `json:"start"`     // wall time, once, in UTC
	Transport string    `json:"transport"` // "stdio", "memory", "http"
	Label     string    `json:"label"`
	// Labels are names and values for selecting sessions.
	Labels   map[string]string `json:"labels,omitempty"`
	Command  []string          `json:"command"` // the server's command line
	URL      string            `json:"url,omitempty"`
	Recorder string            `json:"recorder,omitempty"` // the recording mcprec
	// Processes are the processes of a session on stdio.
	Processes *Processes `json:"processes,omitempty"`
	// MaxFrame is the most bytes of a frame that are recorded; 0: all.
	MaxFrame int64 `json:"max_frame,omitempty"`
	// Redacted is the number of placeholders for secrets in this header.
	Redacted uint64 `json:"redacted,omitempty"`
	// Masked is set for a session that is kept without secrets, with the user's rules; nil: the
	// session is kept exactly.
	Masked *MaskRules `json:"masked,omitempty"`
	// Expect is the necessary verdict of a replay of this session, in the form of
	// closed.ParseExpectation.
	Expect string `json:"expect,omitempty"`
}

// MaskRules name secrets by members, regular expressions, JSON pointers and environment
// variables.
type MaskRules struct {
	Keys     []string `json:"keys,omitempty"`
	Patterns []string `json:"patterns,omitempty"`
	Pointers []string `json:"pointers,omitempty"`
	Env      []string `json:"env,omitempty"`
}

// Processes are the processes of a session on stdio.
type Processes struct {
	Server   procfs.ID `json:"server"`
	Recorder procfs.ID `json:"recorder"`
	Client   procfs.ID `json:"client"` // the recorder's parent, perhaps a launcher
	// Watched are the directions, "c2s" or "s2c", in which the recorder sees whether the
	// receiver reads. Only there it tells something that no Stalled event came.
	Watched []string `json:"watched,omitempty"`
}

// Encode returns the header as the payload of an Opened event.
func (h Header) Encode() []byte {
	h.Version = FormatVersion
	h.Start = sayable(h.Start.UTC())
	if h.Command == nil {
		h.Command = []string{}
	}
	return EncodePayload(h)
}

// ParseHeader reads the payload of an Opened event. A version newer than
// FormatVersion is ErrNewer.
func ParseHeader(payload []byte) (Header, error) {
	var h Header
	err := json.Unmarshal(payload, &h)
	if err != nil { // a newer version may have other types
		var v struct {
			Version int `json:"mcprec"`
		}
		if json.Unmarshal(payload, &v) != nil {
			return Header{}, fmt.Errorf("read session header: %v", phrase.JSONFault(err))
		}
		h.Version = v.Version
	}
	switch {
	case h.Version > FormatVersion:
		return Header{}, fmt.Errorf("read session header: format %d: %w (this mcprec reads up to %d; install a newer one)", h.Version, ErrNewer, FormatVersion)
	case err != nil:
		return Header{}, fmt.Errorf("read session header: %v", phrase.JSONFault(err))
	case h.Version < 1:
		return Header{}, errors.New("read session header: no \"mcprec\" version in it")
	}
	if sayable(h.Start.UTC()).IsZero() {
		h.Start = time.Time{}
	}
	return h, nil
}

// lastYear is the last year in which a session may begin, so that JSON can express its end up
// to 292 years later.
const lastYear = 9700

// sayable returns a time in UTC, or none for an impossible one: in another zone its year may
// be beyond JSON.
func sayable(t time.Time) time.Time {
	if t.Year() < 1 || t.Year() > lastYear {
		return time.Time{}
	}
	return t
}

// DeliveredInfo is the payload of a Delivered event: the receiver (or its operating system)
// has the frames of the event's direction and stream up to Upto, and the last write blocked
// for Blocked.
type DeliveredInfo struct {
	Upto    uint64        `json:"upto"`
	Blocked time.Duration `json:"blocked_ns"`
}

// StalledInfo is the payload of a Stalled event: the receiver of the event's direction has read
// nothing for a while, although bytes wait for it. The event stands where that was seen, and is
// not repeated. When the receiver reads again a Delivered event follows if a write had blocked,
// and otherwise a Stalled event with Over set.
//
// Read, Passed and Unread count bytes of a pipe with their newlines; [FrameOffsets] find
// the frames. The receiver has read Passed-Unread bytes.
//
// An event without a direction is about the server's standard error: the recorder waits in a write
// of it to the client, and the server's own pipe, with Unread bytes, is full.
type StalledInfo struct {
	Read   int64 `json:"read,omitempty"`   // from the sender, since the session began
	Passed int64 `json:"passed,omitempty"` // of these, handed to the receiver's pipe, or more
	// Unread is how many of the passed bytes the pipe still holds; -1: some; 0: not known.
	Unread int64 `json:"unread,omitempty"`
	// Frame is the frame whose write blocks where a session has no pipe, and then the others
	// are 0.
	Frame   uint64        `json:"frame,omitempty"`
	For     time.Duration `json:"for_ns"`            // how long the receiver has read nothing
	Blocked bool          `json:"blocked,omitempty"` // a write to the receiver blocks
	Over    bool          `json:"over,omitempty"`    // the receiver has read, after For
}

// EOFInfo is the payload of an EOF event; Dir is the ended direction.
type EOFInfo struct {
	// By is the end that stopped: "sender" closed its output, "receiver" no longer reads,
	// "recorder" gave up on a stream that others still hold.
	By string `json:"by"`
	// Error is the cause, if it was not a plain end of file.
	Error string `json:"error,omitempty"`
	// Read and Passed are those of [StalledInfo], on a pipe whose receiver was not handed all
	// that was read; else 0.
	Read   int64 `json:"read,omitempty"`
	Passed int64 `json:"passed,omitempty"`
}

// ExitInfo is the payload of an Exited event.
type ExitInfo struct {
	Code   int    `json:"code"`             // exit status; -1 after a signal
	Signal string `json:"signal,omitempty"` // "killed", "terminated", …
	// Unread is how many bytes the process left unread in its input; 0 also if the system
	// does not tell.
	Unread int64 `json:"unread,omitempty"`
	// NotStarted is why the command could not be started: "command not found". Code is then the status of a
	// shell, 127 or 126. "": it was started.
	NotStarted string `json:"not_started,omitempty"`
}

// ExitInfoOf returns the payload for the state of a process that has ended.
func ExitInfoOf(status transport.ExitStatus) ExitInfo {
	info := ExitInfo{Code: status.Code}
	if status.Signal != nil {
		info.Signal = status.Signal.String()
	}
	return info
}

// AskedToEnd reports whether the process ended by SIGHUP, SIGINT or SIGTERM, with which other programs ask
// one to end, or with a shell's status for these.
func (x ExitInfo) AskedToEnd() bool {
	return slices.Contains([]string{"hangup", "interrupt", "terminated"}, x.Signal) ||
		x.Signal == "" && slices.Contains([]int{128 + 1, 128 + 2, 128 + 15}, x.Code)
}

// Killed reports whether the process ended by SIGKILL, which no process can catch, or with a shell's status
// for it.
func (x ExitInfo) Killed() bool { return x.Signal == "killed" || x.Signal == "" && x.Code == 128+9 }

// String returns "0", "7", or "signal: killed".
func (x ExitInfo) String() string {
	if x.Signal != "" {
		return "signal: " + x.Signal
	}
	return fmt.Sprint(x.Code)
}

// SignalInfo is the payload of a Signal event, which stands before the signal's effects.
type SignalInfo struct {
	Signal string `json:"signal"`           // "interrupt", "terminated", …
	Passed bool   `json:"passed,omitempty"` // the recorder sends the signal on to the server
}

// LostInfo is the payload of a Lost event, in the place of the gap.
type LostInfo struct {
	Frames uint64 `json:"frames"` // number of lost events
	Bytes  uint64 `json:"bytes"`  // in the lost events
	Reason string `json:"reason"`
	// Streams are the pipes with missing bytes: "c2s", "s2c", "stderr". None: only mcprec's
	// own events are missing.
	Streams []string `json:"streams,omitempty"`
}

// LacksFrames reports whether frames of a direction may be among the lost events.
func (i LostInfo) LacksFrames(dir transport.Direction) bool {
	return i.Frames > 0 && slices.Contains(i.Streams, dir.String())
}

// NoteInfo is the payload of a Note by a recorder.
type NoteInfo struct {
	Text string `json:"text"`
	// Doubtful is the first event that may be lost because an fsync failed. A checksum
	// holds every readable event intact. 0: no event is doubtful.
	Doubtful uint64 `json:"doubtful,omitempty"`
}

// ClosedInfo is the payload of a Closed event.
type ClosedInfo struct {
	Frames uint64 `json:"frames"` // frames recorded
	Lost   uint64 `json:"lost"`   // events lost, in all
}

// EncodePayload returns the payload bytes of a value of an Info type.
func EncodePayload(info any) []byte {
	if h, ok := info.(*HTTPInfo); ok {
		return h.appendJSON(make([]byte, 0, 256))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(info); err != nil {
		panic("store: unreachable: payload types always encode: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// DecodePayload reads the payload of an event of mcprec's own kinds.
func DecodePayload[T DeliveredInfo | StalledInfo | EOFInfo | ExitInfo | SignalInfo | LostInfo | NoteInfo | ClosedInfo | HTTPInfo](e Event) (T, error) {
	var info T
	if err := json.Unmarshal(e.Payload, &info); err != nil {
		return info, fmt.Errorf("read %s event %d: %v", e.Kind, e.Seq, err)
	}
	return info, nil
}
