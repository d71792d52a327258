package closed

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Model says how an end's reader and writer depend on each other. The zero value is Free.
// Compare models with ==; models with the names of SDKs, after [Model.Unnamed].
type Model struct {
	kind   modelKind
	queue  int     // inbox
	tools  bool    // serial: the handlers of tools/call run beside the receive loop
	name   string  // SDK@VERSION; "" for a model without a name
	preset *Preset // of the name
}

// modelKind is what a model does apart from its numbers.
//
// To add one: name it in modelNames, in [ParseModel] and in [ModelTerms]; say in loop.go what stops
// its receive loop, in script.go what each of its frames waits for, and in waitgraph.go how a
// report tells of such a wait. changes.go says what an end is called without it.
type modelKind uint8

const (
	free modelKind = iota
	rigid
	inline
	inbox
	serial
)

var modelNames = [...]string{"free", "rigid", "inline", "inbox", "serial"}

var (
	// Free: the reader never waits for the writer. A send waits until every frame of the
	// other direction that was recorded before was read.
	Free = Model{kind: free}
	// Rigid: one thread, one fixed order of sends and receives. If the recording leaves the
	// order open, the send comes first.
	Rigid = Model{kind: rigid}
	// Inline: the reader writes the answers and reads on when the answers were taken. Other
	// frames are sent as by Free.
	Inline = Model{kind: inline}
	// Serial: the receive loop runs each handler to its end before it reads on: the handler
	// of a request until the answer was taken, the handler of a notification until the
	// handler's own call was answered. So the loop never reads the frame that a handler
	// waits for. [Presets] names SDKs with such loops.
	Serial = Model{kind: serial}
	// SerialExceptTools is Serial, but the handlers of tools/call run beside the receive
	// loop.
	SerialExceptTools = Model{kind: serial, tools: true}
)

// Inbox returns the model of a receive loop that hands notifications to a queue of q, which
// no goroutine drains while a call of this end is in flight. If the queue is full, the loop
// is stuck. An inbox sends as Free does.
func Inbox(q int) Model { return Model{kind: inbox, queue: max(q, 0)} }

// Queue returns the inner queue of an inbox model; false for other models.
func (m Model) Queue() (q int, ok bool) { return m.queue, m.kind == inbox }

// Unnamed returns the model without the name of an SDK.
func (m Model) Unnamed() Model {
	m.name = ""
	m.preset = nil
	return m
}

// ParseModel reads "free", "rigid", "inline", "serial", "serial-except-tools" or "inbox:Q".
// [ParseEnd] reads the names of SDKs, too.
func ParseModel(s string) (Model, error) {
	for _, m := range [...]Model{Free, Rigid, Inline, Serial, SerialExceptTools} {
		if s == m.String() {
			return m, nil
		}
	}
	size, sized := strings.CutPrefix(s, "inbox:")
	if !sized {
		return Model{}, fmt.Errorf("parse model %q: want free, rigid, inline, serial, serial-except-tools, or inbox:Q with Q from 0", s)
	}
	q, err := strconv.ParseInt(size, 10, 32)
	if err != nil || q < 0 {
		return Model{}, fmt.Errorf("parse model %q: the queue of inbox:Q is a number from 0", s)
	}
	return Inbox(int(q)), nil
}

// ParseEnd reads the model of the end that sends in direction end: what [ParseModel] reads,
// or an SDK of [Presets] with a version, as in python-sdk@1.3, go-sdk@v1.8.0 or
// typescript-sdk@1.x. The newest known release counts that fits the version; without a
// version the newest of all.
func ParseEnd(end transport.Direction, s string) (Model, error) {
	sdk, version, versioned := strings.Cut(s, "@")
	version = strings.TrimPrefix(version, "v")
	var found *Preset
	var known []string
	for i, p := range presets {
		if p.SDK != sdk || p.End != 0 && p.End != end {
			continue
		}
		known = append(known, p.Releases())
		if !versioned || p.has(version) {
			found = &presets[i]
		}
	}
	switch {
	case len(known) == 0:
		m, err := ParseModel(s)
		if err != nil && !strings.HasPrefix(s, "inbox:") {
			err = fmt.Errorf("%w; or an SDK, with or without a version, as in python-sdk@1.3: %s", err, strings.Join(sdks(), ", "))
		}
		return m, err
	case found == nil:
		return Model{}, fmt.Errorf("parse model %q: the %s of %s is known at %s, and no such release is", s, end.Sender(), sdk, strings.Join(known, "; "))
	case len(numbers(version)) < 2: // the newest of all, or of a major version
		version = found.Through
	}
	m := found.Model
	m.name = sdk + "@" + version
	m.preset = found
	return m, nil
}

// String returns what [ParseEnd] reads, and without the name of an SDK what [ParseModel]
// reads.
func (m Model) String() string {
	switch {
	case m.name != "":
		return m.name
	case m.kind == inbox:
		return fmt.Sprintf("inbox:%d", m.queue)
	case m.tools:
		return "serial-except-tools"
	}
	return modelNames[m.kind]
}

// label is the model in a report, such as inbox:0 or python-sdk@1.3 (inbox:0).
func (m Model) label() string {
	if m.name == "" {
		return m.String()
	}
	return fmt.Sprintf("%s (%v)", m.name, m.Unnamed())
}

// MarshalText writes the model without the name of an SDK.
func (m Model) MarshalText() ([]byte, error) { return []byte(m.Unnamed().String()), nil }

// UnmarshalText reads what ParseModel reads.
func (m *Model) UnmarshalText(b []byte) (err error) {
	*m, err = ParseModel(string(b))
	return err
}
