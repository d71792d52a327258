package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

type showOptions struct {
	home
	filterFlag
	format string
	from   uint64
	limit  int
	pairs  bool
}

func newShow() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show [SESSION]",
		Short: "Show a session's events in their order, one a line or as a sequence diagram",
		Long: `show prints one line an event: its number, its time since the start in seconds, its
direction, over HTTP the number of its exchange in brackets, and what it says.
Responses name the method they answer and how long it took; with --pairs requests also
name their answer, and whatever is about a call its request.

--format sequence draws a diagram as wide as the terminal ($COLUMNS, else 100 columns): an arrow
a message, dashed for notifications, and beside the lifelines a rail for each call, from
its request to its answer: at the left those of the client, at the right the server's.
mcprec export --format mermaid writes one for documents.

--format json prints one object a line: seq, at (a Go duration), kind, dir,
stream, bytes, unterminated, text, messages (a list of kind, method, target, id,
token, error, request, latency; with --pairs response). For the exact bytes see mcprec
export --secrets.

` + sessionHelp,
		Example: `  mcprec show
  mcprec show --filter 'tool:search status:error|pending' --pairs
  mcprec show --filter 'took:>1s' SESSION
  mcprec show --format sequence --from 100 -n 40 SESSION`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runShow(cmd, o, firstOf(args)) },
	}
	o.home.addMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text, json or sequence", "text", "json", "sequence")
	f.Uint64Var(&o.from, "from", 1, "begin with event `SEQ`")
	f.IntVarP(&o.limit, "limit", "n", 0, "show `N` events only; 0 is all")
	f.BoolVar(&o.pairs, "pairs", false, "name the answer at each request, and the request of each answer")
	f.BoolFunc("sequence", "", func(string) error { o.format = "sequence"; return nil }) // as it was called until 0.2
	_ = f.MarkHidden("sequence")
	return cmd
}

var errEnough = errors.New("enough")

func runShow(cmd *cobra.Command, options showOptions, arg string) (err error) {
	if err := notNegative("limit", options.limit); err != nil {
		return err
	}
	fits, err := options.parse()
	if err != nil {
		return err
	}
	out, err := screenOf(cmd)
	if err != nil {
		return err
	}
	s, err := openSession(cmd, options.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	err = errors.Join(options.print(cmd, s, fits, out), out.Flush())
	if err != nil || options.limit > 0 || s.Store == nil {
		return err
	}
	for found, err := range s.Store.Sessions(cmd.Context(), store.Query{Prefix: string(s.ID)}) {
		if err == nil && found.ID == s.ID && found.State == store.Crashed {
			fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends without being closed: %s\n", s.Name, unclosed)
		}
	}
	if options.format != "text" || options.from > 1 || fits.String() != "" {
		return nil
	}
	for _, text := range stuckIn(cmd.Context(), s) {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s\n", text)
	}
	return nil
}

// print prints the events that the flags select.
func (o showOptions) print(cmd *cobra.Command, s *session.Session, fits *filter.Filter, out *terminal.Screen) error {
	p := newEntryPrinter(out, o.format, o.pairs)
	if o.format == "sequence" {
		p = newSequencePrinter(out)
	}
	shown := 0
	// Requests before --from are folded too: their responses name them.
	last := uint64(0)
	t, err := s.Transcript(cmd.Context(), o.pairs || fits.Ahead(), func(entry timeline.Entry) error {
		last = entry.Seq
		if entry.Seq < o.from || !fits.Selects(&entry) {
			return nil
		}
		if o.limit > 0 && shown == o.limit {
			return errEnough
		}
		shown++
		return p.print(entry)
	})
	if err != nil {
		return err
	}
	err = timeline.Project(s.Events(cmd.Context(), 1, store.ReadOptions{Unfinished: true}), t)
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		return err
	case last < o.from:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends at event %d\n", s.Name, last)
	case shown == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no event of %s fits --filter\n", s.Name)
	}
	if p.close == nil {
		return nil
	}
	return p.close()
}

type entryPrinter struct {
	print func(timeline.Entry) error
	close func() error // prints the end of a diagram; nil for lines
}

// newEntryPrinter returns a printer of one line an entry. With pairs the line also names the
// events of the same call.
func newEntryPrinter(screen *terminal.Screen, format string, pairs bool) entryPrinter {
	if format == "json" {
		enc := report.NewEncoder(screen)
		return entryPrinter{print: func(entry timeline.Entry) error { return enc.Encode(entryLine(entry, pairs)) }}
	}
	return entryPrinter{print: func(entry timeline.Entry) error {
		head, direction, text := entry.Parts()
		screen.Paint(terminal.Dim, head)
		screen.Paint(ofDirection(entry.Dir), direction)
		screen.Paint(ofTone(entry.Tone()), text)
		if p := entry.Pairs(); pairs && p != "" {
			screen.Paint(terminal.Dim, ", "+p)
		}
		screen.Paint(terminal.Unpainted, "\n")
		return nil
	}}
}

// newSequencePrinter returns a printer that draws a sequence diagram.
func newSequencePrinter(screen *terminal.Screen) entryPrinter {
	d := sequence.New(screen.Width, func(line sequence.Line) error {
		screen.Paint(terminal.Dim, line.Head)
		screen.Paint(terminal.Cyan, line.Left)
		how := ofTone(line.Tone)
		if line.Tone == timeline.Usual {
			how = ofDirection(line.Dir)
		}
		screen.Paint(how, line.Lane)
		screen.Paint(terminal.Magenta, strings.TrimRight(line.Tail, " "))
		screen.Paint(terminal.Unpainted, "\n")
		return nil
	})
	begun := false
	return entryPrinter{func(entry timeline.Entry) error {
		if !begun {
			begun = true
			if err := d.Heading(); err != nil {
				return err
			}
		}
		return d.Add(entry)
	}, d.Close}
}

// shownEntry is the stable form of show --format json.
type shownEntry struct {
	Seq          uint64         `json:"seq"`
	At           string         `json:"at"`
	Kind         store.Kind     `json:"kind"`
	Dir          string         `json:"dir,omitempty"`
	Stream       uint64         `json:"stream,omitempty"`
	Bytes        int            `json:"bytes"`
	Unterminated bool           `json:"unterminated,omitempty"`
	Redacted     uint64         `json:"redacted,omitempty"`
	Cut          uint64         `json:"cut,omitempty"`
	Text         string         `json:"text,omitempty"`
	Messages     []shownMessage `json:"messages,omitempty"`
}

type shownMessage struct {
	Kind     string          `json:"kind"`
	Method   string          `json:"method,omitempty"`
	Target   string          `json:"target,omitempty"`
	ID       json.RawMessage `json:"id,omitempty"`
	Token    json.RawMessage `json:"token,omitempty"`
	Error    string          `json:"error,omitempty"`
	Request  uint64          `json:"request,omitempty"`
	Latency  string          `json:"latency,omitempty"`
	Response uint64          `json:"response,omitempty"`
}

func entryLine(e timeline.Entry, pairs bool) shownEntry {
	line := shownEntry{e.Seq, e.At.String(), e.Kind, e.Dir.String(), e.Stream, e.Size, e.Unterminated, e.Redacted, e.Cut, e.Text, nil}
	for _, m := range e.Messages {
		sm := shownMessage{m.Kind.String(), m.Method, m.Target, json.RawMessage(m.ID), json.RawMessage(m.Token), m.Failure, m.Request, "", 0}
		if m.Latency > 0 {
			sm.Latency = m.Latency.String()
		}
		switch {
		case !pairs || m.Call == nil:
		case m.Kind != transport.Request:
			sm.Request = m.Call.Request
		case m.Call.Response != 0 || m.Call.Latency > 0: // a request has the latency of its answer, or the time without one
			sm.Response, sm.Latency = m.Call.Response, m.Call.Latency.String()
		}
		line.Messages = append(line.Messages, sm)
	}
	return line
}

// ofDirection returns the colour of a direction.
func ofDirection(dir transport.Direction) terminal.Style {
	switch dir {
	case transport.ClientToServer:
		return terminal.Cyan
	case transport.ServerToClient:
		return terminal.Magenta
	}
	return terminal.Unpainted
}

func ofTone(t timeline.Tone) terminal.Style {
	return [...]terminal.Style{timeline.Usual: terminal.Unpainted, timeline.Beside: terminal.Dim, timeline.Fault: terminal.Red}[t]
}
