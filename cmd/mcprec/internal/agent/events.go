package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// eventRow is an event in a list.
type eventRow struct {
	Seq  uint64 `json:"seq"`
	At   string `json:"at"` // since the start
	Dir  string `json:"dir,omitempty"`
	Kind string `json:"kind"`
	Line string `json:"line"` // what mcprec show says of it
	Size int    `json:"size"` // bytes that were recorded
	Body string `json:"body,omitempty"`
	Cut  bool   `json:"body_is_cut,omitempty"`
}

// rowOf returns the row of an entry with at most so many bytes of what it says.
func rowOf(e timeline.Entry, most int) eventRow {
	row := eventRow{Seq: e.Seq, At: e.At.String(), Dir: e.Dir.String(), Kind: string(e.Kind), Line: e.Summary(), Size: e.Size}
	if most > 0 && (e.Kind == store.Frame || e.Kind == store.Stderr || e.Kind == store.Note) {
		row.Body = bodyOf(e.Payload, 0, most)
		row.Cut = len(e.Payload) > most
	}
	return row
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
	rows := []eventRow{}
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
		row := rowOf(e, most)
		line := output.Plain(e.String()) + "\n"
		if row.Body != "" {
			line += "        " + output.Plain(row.Body)
			if row.Cut {
				line += fmt.Sprintf("… (of %d bytes)", row.Size)
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
	body := bodyOf(e.Payload, from, eventBytes)
	row := rowOf(e, 0)
	row.Body = body
	end := min(from+eventBytes, len(e.Payload))
	row.Cut = from > 0 || end < len(e.Payload)
	a.data = map[string]any{"session": s.ID, "pair": e.Pairs(), "event": row, "offset": from, "cut_by_recorder": e.Cut}
	var text strings.Builder
	fmt.Fprintf(&text, "event #%d of %s\n%s\n", e.Seq, s.Name, output.Plain(strings.TrimSpace(e.String())))
	if pairs := e.Pairs(); pairs != "" {
		fmt.Fprintf(&text, "pair: %s\n", output.Plain(pairs))
	}
	fmt.Fprintf(&text, "%s\n", body)
	a.text = text.String()
	if row.Cut {
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
