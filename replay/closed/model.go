package closed

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Model says how an end's reader and writer depend on each other. The zero value is Independent.
// Compare models with ==; models with the names of SDKs, after [Model.Unnamed].
type Model struct {
	kind   modelKind
	queue  int     // notification queue
	tools  bool    // blocking: the handlers of tools/call run beside the receive loop
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
	independent modelKind = iota
	singleThreaded
	answersInline
	notificationQueue
	blockingHandlers
)

var modelNames = [...]string{"independent", "single-threaded", "answers-inline", "notification-queue", "blocking-handlers"}

// queuePrefix begins the name of a notification queue; its size follows.
const queuePrefix = "notification-queue="

var (
	// Independent: the reader never waits for the writer. A send waits until every frame of the
	// other direction that was recorded before was read.
	Independent = Model{kind: independent}
	// SingleThreaded: one thread, one fixed order of sends and receives. If the recording leaves the
	// order open, the send comes first.
	SingleThreaded = Model{kind: singleThreaded}
	// AnswersInline: the reader writes the answers and reads on when the answers were taken. Other
	// frames are sent as by Independent.
	AnswersInline = Model{kind: answersInline}
	// BlockingHandlers: the receive loop runs each handler to its end before it reads on: the handler
	// of a request until the answer was taken, the handler of a notification until the
	// handler's own call was answered. So the loop never reads the frame that a handler
	// waits for. [Presets] names SDKs with such loops.
	BlockingHandlers = Model{kind: blockingHandlers}
	// BlockingHandlersExceptTools is BlockingHandlers, but the handlers of tools/call run beside the receive
	// loop.
	BlockingHandlersExceptTools = Model{kind: blockingHandlers, tools: true}
)

// NotificationQueue returns the model of a receive loop that hands notifications to a queue of q, which
// no goroutine drains while a call of this end is in flight. If the queue is full, the loop
// is stuck. A notification queue sends as Independent does.
func NotificationQueue(q int) Model { return Model{kind: notificationQueue, queue: max(q, 0)} }

// Queue returns the size of a NotificationQueue; false for other models.
func (m Model) Queue() (q int, ok bool) { return m.queue, m.kind == notificationQueue }

// Unnamed returns the model without the name of an SDK.
func (m Model) Unnamed() Model {
	m.name = ""
	m.preset = nil
	return m
}

// sizeless are the models without a number.
var sizeless = [...]Model{Independent, SingleThreaded, AnswersInline, BlockingHandlers, BlockingHandlersExceptTools}

// ModelNames returns the names of the models without a number.
func ModelNames() (names []string) {
	for _, m := range sizeless {
		names = append(names, m.String())
	}
	return names
}

// ParseModel reads one of [ModelNames], or "notification-queue=Q".
// [ParseEnd] reads the names of SDKs, too.
func ParseModel(s string) (Model, error) {
	for _, m := range sizeless {
		if s == m.String() {
			return m, nil
		}
	}
	size, sized := strings.CutPrefix(s, queuePrefix)
	if !sized {
		return Model{}, fmt.Errorf("parse model %q: want one of %s, or notification-queue=Q with Q from 0", s, strings.Join(ModelNames(), ", "))
	}
	q, err := strconv.ParseInt(size, 10, 32)
	if err != nil || q < 0 {
		return Model{}, fmt.Errorf("parse model %q: the queue of notification-queue=Q is a number from 0", s)
	}
	return NotificationQueue(int(q)), nil
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
		if err != nil && !strings.HasPrefix(s, queuePrefix) {
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
	case m.kind == notificationQueue:
		return queuePrefix + strconv.Itoa(m.queue)
	case m.tools:
		return "blocking-handlers-except-tools"
	}
	return modelNames[m.kind]
}

// label is the model in a report, such as notification-queue=0 or python-sdk@1.3 (notification-queue=0).
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
