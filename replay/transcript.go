package replay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Transcript is the projection that tells a session as a timeline. It gives out
// one entry for each event, at once, and remembers only the calls in flight.
type Transcript struct {
	emit func(Entry) error
	open inFlight[openCall]
}

type openCall struct {
	seq            uint64
	at             time.Duration
	method, target string
}

// NewTranscript returns a transcript that gives its entries to emit. An error of
// emit ends the fold.
func NewTranscript(emit func(Entry) error) *Transcript {
	return &Transcript{emit: emit, open: inFlight[openCall]{}}
}

// Apply gives out the event's entry.
func (t *Transcript) Apply(e store.Event) error {
	entry := Entry{
		Seq: e.Seq, At: e.At, Kind: e.Kind, Dir: e.Dir, Stream: e.Stream,
		Size: len(e.Payload), Unterminated: e.Unterminated,
	}
	if e.Kind != store.Frame {
		entry.Text = eventText(e)
		return t.emit(entry)
	}
	messages, err := e.AsFrame().Messages()
	if err != nil {
		entry.Noise, entry.Text = true, excerpt(e.Payload)
	}
	for _, m := range messages {
		entry.Messages = append(entry.Messages, t.message(e, m))
	}
	return t.emit(entry)
}

func (t *Transcript) message(e store.Event, m transport.Message) EntryMessage {
	em := EntryMessage{Kind: m.Kind(), Method: m.Method, ID: string(m.ID), Target: target(m)}
	switch em.Kind {
	case transport.Request:
		em.Token = string(m.ProgressToken())
		t.open.open(e.Dir, m.ID, openCall{e.Seq, e.At, em.Method, em.Target})
	case transport.Notification:
		if m.Method == methodProgress {
			em.Token = string(m.ProgressToken())
		}
		if id := cancels(m); id != nil {
			request, _ := t.open.latest(e.Dir, id)
			em.Request = request.seq
		}
	case transport.Response:
		if request, ok := t.open.close(e.Dir.Reverse(), m.ID); ok {
			em.Request, em.Method, em.Target = request.seq, request.method, request.target
			em.Latency = e.At - request.at
		}
		em.Failure = failure(m, em.Method)
	}
	return em
}

// eventText says what an event that is no frame means.
func eventText(e store.Event) string {
	switch e.Kind {
	case store.Opened:
		if h, err := store.ParseHeader(e.Payload); err == nil {
			return openedText(h)
		}
	case store.Delivered:
		if info, err := store.DecodePayload[store.DeliveredInfo](e); err == nil {
			return fmt.Sprintf("up to #%d, the write blocked for %v", info.Upto, info.Blocked)
		}
	case store.HTTP:
		if info, err := store.DecodePayload[store.HTTPInfo](e); err == nil {
			return httpText(info)
		}
	case store.EOF:
		if info, err := store.DecodePayload[store.EOFInfo](e); err == nil {
			return strings.TrimSuffix(fmt.Sprintf("by the %s: %s", info.By, clip(info.Error)), ": ")
		}
	case store.Exited:
		if info, err := store.DecodePayload[store.ExitInfo](e); err == nil {
			return info.String()
		}
	case store.Lost:
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			return fmt.Sprintf("%d events, %d B: %s", info.Frames, info.Bytes, clip(info.Reason))
		}
	case store.Closed:
		if info, err := store.DecodePayload[store.ClosedInfo](e); err == nil {
			return fmt.Sprintf("%d frames, %d lost", info.Frames, info.Lost)
		}
	}
	return excerpt(e.Payload)
}

func openedText(h store.Header) string {
	label := ""
	if h.Label != "" {
		label = strconv.Quote(h.Label)
	}
	parts := []string{h.Transport, label, h.URL, clip(strings.Join(h.Command, " "))}
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}

// excerpt returns the beginning of bytes that mean nothing here, on one line.
func excerpt(b []byte) string {
	const limit = 80
	text := strings.ToValidUTF8(string(b[:min(len(b), limit)]), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	if len(b) > limit {
		text += "…"
	}
	return strings.TrimSpace(text)
}
