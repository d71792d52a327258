package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// shownEvent is an event as mcprec show --format json has it. Where that has not the whole payload, a part
// of the payload stands beside.
type shownEvent struct {
	report.Entry
	Part string `json:"part,omitempty"`
}

// showEvent returns an event with at most so many bytes of its payload, from a byte on. With pairs it
// names the events of the same call.
func showEvent(e timeline.Entry, pairs bool, from, most int) shownEvent {
	isWhole := isBody(e.Kind) && from == 0 && len(e.Payload) <= most
	shown := shownEvent{Entry: report.EntryOf(e, pairs, isWhole)}
	if !isWhole {
		shown.Part = bodyOf(e.Payload, from, most)
	}
	return shown
}

// isBody reports whether the payload of an event is a body: what was said.
func isBody(kind store.Kind) bool {
	return kind == store.Frame || kind == store.Stderr || kind == store.Note
}

// bodyOf returns a part of a payload as text.
func bodyOf(payload []byte, from, most int) string {
	from = min(from, len(payload))
	part := payload[from:min(from+most, len(payload))]
	return strings.ToValidUTF8(string(part), "\uFFFD")
}

// errEnough ends a reading early.
var errEnough = errors.New("enough")

// getSession shows the events of a session.
func getSession(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	fits, err := filter.Parse(args.text("filter"))
	if err != nil {
		return a, fmt.Errorf("the argument filter: %w", err)
	}
	s, err := r.find(ctx, args.text("session"))
	if err != nil {
		return a, err
	}
	introduction, err := s.Introduction(ctx)
	if err != nil {
		return a, err
	}
	from, limit, most := args.number("from"), args.count("limit"), args.count("bytes")
	rows := []shownEvent{}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n", s.Name, introduction)
	next := uint64(0)
	last := uint64(0)
	page := newPage(longAnswer)
	reading := session.Reading{First: from, Ahead: fits.Ahead(), Whole: fits.String() != "", ReadOptions: store.ReadOptions{Unfinished: true}}
	err = s.Entries(ctx, reading, func(e timeline.Entry) error {
		last = e.Seq
		if e.Seq < from || !fits.Selects(&e) {
			return nil
		}
		ofBody := 0
		if isBody(e.Kind) {
			ofBody = most
		}
		row := showEvent(e, false, 0, ofBody)
		line := output.Plain(e.String()) + "\n"
		if body := bodyOf(e.Payload, 0, ofBody); body != "" {
			line += "        " + output.Plain(body)
			if len(e.Payload) > most {
				line += fmt.Sprintf("… (of %d bytes)", e.Size)
			}
			line += "\n"
		}
		if len(rows) == limit || !page.takes(row, line) {
			next = e.Seq
			return errEnough
		}
		rows = append(rows, row)
		text.WriteString(line)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return a, err
	}
	switch {
	case next > 0:
		a.add("the session goes on to event #%d or further; go on with from %d", max(s.Head, next), next)
	case len(rows) == 0 && last < from:
		a.add("the session ends at event #%d", max(last, s.Head))
	case len(rows) == 0:
		a.add("no event of the session fits the filter")
	}
	a.data = map[string]any{"session": s.ID, "introduction": introduction, "events": rows}
	a.text = text.String()
	return a, nil
}

// eventBytes is how much of a message get_event shows.
const eventBytes = 16 << 10

// getEvent shows one event whole.
func getEvent(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	s, err := r.find(ctx, args.text("session"))
	if err != nil {
		return a, err
	}
	e, err := s.Entry(ctx, args.number("seq"))
	if err != nil {
		return a, err
	}
	from := min(args.count("offset"), len(e.Payload))
	end := min(from+eventBytes, len(e.Payload))
	a.data = map[string]any{"session": s.ID, "event": showEvent(e, true, from, eventBytes), "offset": from}
	var text strings.Builder
	fmt.Fprintf(&text, "event #%d of %s\n%s\n", e.Seq, s.Name, output.Plain(strings.TrimSpace(e.String())))
	if pairs := e.Pairs(); pairs != "" {
		fmt.Fprintf(&text, "pair: %s\n", output.Plain(pairs))
	}
	fmt.Fprintf(&text, "%s\n", bodyOf(e.Payload, from, eventBytes))
	a.text = text.String()
	if from > 0 || end < len(e.Payload) {
		a.add("bytes %d to %d of %d", from, end, len(e.Payload))
	}
	if end < len(e.Payload) {
		a.add("go on with offset %d; the resource has up to %s of the event", end, phrase.Plural(resourceEvent, "byte"))
		a.links = append(a.links, &sdk.ResourceLink{
			URI: fmt.Sprintf("%s?from=%d", resourceURI(s.ID), e.Seq), Name: fmt.Sprintf("event %d", e.Seq), MIMEType: fixtureType,
			Description: "The session's recording from this event on, as JSON Lines.",
		})
	}
	return a, nil
}
