package view

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

const (
	diagramWidth  = 100    // columns of a diagram as text
	diagramEvents = 10_000 // the most in one diagram
)

// diagramAnswer is the answer to /api/diagram.
type diagramAnswer struct {
	Text string `json:"text"`
	Left int    `json:"left"` // events that had no room
}

// diagram draws the events of a range that a filter selects: as mcprec show --format sequence, or
// as mermaid.
func diagram(i *index, r *http.Request) (any, error) {
	from, err := number(r, "from", 1)
	if err != nil {
		return nil, err
	}
	to, err := number(r, "to", from)
	if err != nil {
		return nil, err
	}
	fits, err := filter.Parse(r.URL.Query().Get("filter"))
	if err != nil {
		return nil, err
	}
	text := &strings.Builder{}
	add, end, err := drawing(r.URL.Query().Get("format"), text)
	if err != nil {
		return nil, err
	}
	drawn, left := 0, 0
	t, err := i.transcript(r.Context(), fits.Ahead(), func(e timeline.Entry) error {
		switch {
		case e.Seq < from || !fits.Selects(&e):
			return nil
		case drawn == diagramEvents:
			left++
			return nil
		}
		drawn++
		return add(e)
	})
	if err != nil {
		return nil, err
	}
	until := func(yield func(store.Event, error) bool) {
		for e, err := range i.source.readAll(r.Context()) {
			if err == nil && e.Seq > to || !yield(e, err) {
				return
			}
		}
	}
	if err := timeline.Project(timeline.Steps(until), t); err != nil {
		return nil, err
	}
	more, err := end()
	return diagramAnswer{text.String(), left + more}, err
}

// drawing returns what draws an entry into text, and what ends the drawing and counts the entries
// that had no room.
func drawing(format string, text *strings.Builder) (add func(timeline.Entry) error, end func() (left int, err error), err error) {
	switch format {
	case "text":
		d := sequence.New(diagramWidth, func(line sequence.Line) error {
			text.WriteString(line.String() + "\n")
			return nil
		})
		return d.Add, func() (int, error) { return 0, d.Close() }, d.Heading()
	case "mermaid":
		d := sequence.NewMermaid(sequence.MermaidLimit, func(line string) error {
			text.WriteString(line + "\n")
			return nil
		})
		return d.Add, d.Close, nil
	}
	return nil, nil, fmt.Errorf("draw events: the format %q is not known; want text or mermaid", format)
}
