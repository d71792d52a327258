package sequence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Line is a line of a diagram, in parts that a program may colour.
type Line struct {
	Head string // number and time
	Left string // the client's calls, up to its lifeline
	Lane string // from lifeline to lifeline
	Tail string // the server's calls
	Tone timeline.Tone
	Dir  transport.Direction
}

// String returns the whole line.
func (l Line) String() string { return strings.TrimRight(l.Head+l.Left+l.Lane+l.Tail, " ") }

// The widths of a line's parts, in columns.
const (
	headWidth  = 19
	leftRails  = 6
	rightRails = 3
	minWidth   = 60
)

// Diagram draws entries. It belongs to one goroutine.
type Diagram struct {
	emit   func(Line) error
	width  int // of the lane, with its lifelines
	client rails
	server rails
	open   map[*timeline.Call]bool
}

// New returns a diagram of width columns, 60 at least; emit gets its lines.
func New(width int, emit func(Line) error) *Diagram {
	return &Diagram{
		emit:   emit,
		width:  max(width, minWidth) - headWidth - (leftRails + 2) - (rightRails + 2),
		client: rails{NewRails[*timeline.Call](leftRails), map[*timeline.Call]bool{}, '╭', '├', '╰'},
		server: rails{NewRails[*timeline.Call](rightRails), map[*timeline.Call]bool{}, '╮', '┤', '╯'},
		open:   map[*timeline.Call]bool{},
	}
}

// Heading draws the names of the lifelines.
func (d *Diagram) Heading() error {
	lane := "client" + strings.Repeat(" ", d.width-len("client")-len("server")+2) + "server"
	return d.emit(Line{Head: strings.Repeat(" ", headWidth), Left: strings.Repeat(" ", leftRails), Lane: lane})
}

// Add draws an entry: a line for each of its messages.
func (d *Diagram) Add(entry timeline.Entry) error {
	head := fmt.Sprintf("%6d %11.6f ", entry.Seq, entry.At.Seconds())
	if len(entry.Messages) == 0 {
		var judged []timeline.EntryMessage // calls that the HTTP status of the entry answers, or opens again
		for _, c := range entry.Refused {
			judged = append(judged, timeline.EntryMessage{
				Kind: transport.Response, Failure: c.Failure, Request: c.Request, Call: c, Role: timeline.Answers,
			})
			delete(d.open, c)
		}
		for _, c := range entry.Undone { // they are as before the client's frame
			if c.Cancelled == 0 || c.Cancelled > entry.Seq {
				judged = append(judged, timeline.EntryMessage{Kind: transport.Request, Request: c.Request, Call: c, Role: timeline.Asks})
				d.open[c] = true
			}
		}
		return d.line(head, entry, judged, d.event(entry))
	}
	for _, c := range entry.Refused { // before the body came
		defer delete(d.open, c)
	}
	for i, m := range entry.Messages {
		if i > 0 {
			head = strings.Repeat(" ", headWidth)
		}
		if err := d.line(head, entry, []timeline.EntryMessage{m}, d.arrow(entry, m)); err != nil {
			return err
		}
		if m.Kind == transport.Request && m.Call != nil {
			d.open[m.Call] = true
		} else if m.Kind == transport.Response || m.Method == mcp.NotificationCancelled {
			delete(d.open, m.Call)
		}
	}
	return nil
}

func (d *Diagram) line(head string, entry timeline.Entry, messages []timeline.EntryMessage, lane string) error {
	var tone timeline.Tone
	if len(messages) == 1 && len(entry.Undone) == 0 {
		tone = messages[0].Tone()
	} else {
		tone = entry.Tone()
	}
	return d.emit(Line{
		Head: head, Lane: lane, Tone: tone, Dir: entry.Dir,
		Left: string(d.client.row(transport.ClientToServer, messages)) + " ",
		Tail: " " + string(d.server.row(transport.ServerToClient, messages)),
	})
}

// arrow draws a message.
func (d *Diagram) arrow(entry timeline.Entry, entryMessage timeline.EntryMessage) string {
	fill := "-"
	switch entryMessage.Kind {
	case transport.Notification:
		fill = " -"
	case transport.Invalid:
		fill = "."
	}
	before := exchange(entry)
	if len(entry.Messages) > 1 {
		before += "batch: "
	}
	return d.lane(entry.Dir, before+fitted(entryMessage, d.width-len("|<-  |")-len(before)), fill)
}

// lane draws a label between the lifelines: with a direction as an arrow.
func (d *Diagram) lane(dir transport.Direction, label, fill string) string {
	left, right := "  ", ""
	switch {
	case dir == transport.ClientToServer:
		left, right = "- ", ">"
	case dir == transport.ServerToClient && fill == "-":
		left = "<- "
	case dir == transport.ServerToClient:
		left = "<  "
	}
	room := d.width - len("|"+left+" "+right+"|")
	label = phrase.CutColumns(label, room)
	gap := room - phrase.Columns(label)
	line := strings.Repeat(fill, gap/len(fill)+1)
	return "|" + left + label + " " + line[len(line)-gap:] + right + "|"
}

// event draws an event without messages.
func (d *Diagram) event(entry timeline.Entry) string {
	label := exchange(entry) + EventLabel(entry)
	switch {
	case entry.Kind == store.Lost:
		return d.lane(transport.NoDirection, label, "!")
	case entry.Kind == store.Frame && entry.Batch:
		return d.lane(entry.Dir, label, "-")
	case entry.Kind == store.Frame:
		return d.lane(entry.Dir, label, ".")
	case entry.Kind == store.Delivered:
		return d.lane(transport.NoDirection, label, "~")
	}
	return d.lane(transport.NoDirection, label, " ")
}

// shownOpen is how many calls without an answer Close lists.
const shownOpen = 10

// Close draws the calls that are still open.
func (d *Diagram) Close() error {
	calls := slices.SortedFunc(maps.Keys(d.open), func(a, b *timeline.Call) int {
		return cmp.Or(cmp.Compare(a.Request, b.Request), cmp.Compare(a.ID, b.ID))
	})
	for i, c := range calls {
		text := fmt.Sprintf("no answer to #%d %s", c.Request, named(c.Method, c.Target, c.ID))
		if i == shownOpen {
			text = fmt.Sprintf("… and to %d more", len(calls)-i)
		}
		err := d.emit(Line{
			Head: strings.Repeat(" ", headWidth), Left: strings.Repeat(" ", leftRails+2),
			Lane: d.lane(transport.NoDirection, text, " "), Tone: timeline.Fault, Dir: c.Dir,
		})
		if err != nil || i == shownOpen {
			return err
		}
	}
	return nil
}

// rails are the calls of one end that are in flight, as cells of a line.
type rails struct {
	Rails[*timeline.Call]
	beyond map[*timeline.Call]bool // calls without a column
	begin  rune
	touch  rune
	end    rune
}

const (
	runs   = '│'
	cancel = '×'
	more   = '+' // there are calls without a column
)

// row updates the rails by an entry's messages about calls of a direction, and returns the
// entry's row of cells.
func (r *rails) row(dir transport.Direction, messages []timeline.EntryMessage) []rune {
	columns := r.Columns()
	cells := make([]rune, len(columns)+1)
	for i, c := range columns {
		cells[i] = ' '
		if c != nil {
			cells[i] = runs
		}
	}
	for _, m := range messages {
		if m.Call != nil && m.Call.Dir == dir {
			r.draw(m, cells)
		}
	}
	cells[len(columns)] = ' '
	if len(r.beyond) > 0 {
		cells[len(columns)] = more
	}
	return cells
}

func (r *rails) draw(m timeline.EntryMessage, cells []rune) {
	switch column, change := r.Follow(m.Call, m.Role); change {
	case Begins:
		cells[column] = r.begin
	case Touches:
		cells[column] = r.touch
	case Ends:
		cells[column] = r.end
	case Breaks:
		cells[column] = cancel
	case NoChange:
		if m.Role == timeline.Asks {
			r.beyond[m.Call] = true
		} else if m.Kind == transport.Response || m.Method == mcp.NotificationCancelled {
			delete(r.beyond, m.Call)
		}
	}
}
