package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

type showOptions struct {
	home
	selection
	format string
	from   uint64
	limit  int
}

func newShow() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show [SESSION]",
		Short: "Show a session's events in their order, one a line",
		Long: `show prints one line an event: its number, its time since the start in seconds, its
direction, over HTTP the number of its exchange in brackets, and what it says.
Responses name the method they answer and how long it took.

` + filterHelp + `
--format json prints one object a line: seq, at (a Go duration), kind, dir,
stream, bytes, unterminated, text, messages (a list of kind, method, target, id,
token, error, request, latency). For the exact bytes see mcprec export.

` + sessionHelp + "\n\n" + exitLine,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runShow(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.selection.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "text or json")
	f.Uint64Var(&o.from, "from", 1, "begin with event `SEQ`")
	f.IntVarP(&o.limit, "limit", "n", 0, "show `N` events only; 0 is all")
	completeWords(cmd, "format", "text", "json")
	return cmd
}

// errEnough ends a fold whose limit is reached.
var errEnough = errors.New("enough")

func runShow(cmd *cobra.Command, o showOptions, arg string) (err error) {
	if err := errors.Join(oneOf("format", o.format, "text", "json"), notNegative("limit", o.limit)); err != nil {
		return err
	}
	fits, err := o.parse()
	if err != nil {
		return err
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	w := bufio.NewWriter(cmd.OutOrStdout())
	show := entryPrinter(w, o.format)
	shown := 0
	// Requests before --from are folded too: their responses name them.
	last := uint64(0)
	t, from, err := s.transcriptFrom(cmd.Context(), fits.Ahead(), o.from, func(e replay.Entry) error {
		if last = e.Seq; e.Seq < o.from || !fits.Selects(&e) {
			return nil
		}
		if o.limit > 0 && shown == o.limit {
			return errEnough
		}
		shown++
		return show(e)
	})
	if err != nil {
		return err
	}
	last = from - 1
	err = replay.Project(s.events(cmd.Context(), from, store.ReadOptions{}), t)
	if errors.Is(err, errEnough) {
		err = nil
	}
	switch {
	case err != nil:
	case last < o.from:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends at event %d\n", s.name, last)
	case shown == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no event of %s fits --filter\n", s.name)
	}
	return errors.Join(err, w.Flush())
}

// entryPrinter returns what prints an entry in the format.
func entryPrinter(w io.Writer, format string) func(replay.Entry) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return func(e replay.Entry) error { return enc.Encode(entryLine(e)) }
	}
	return func(e replay.Entry) error {
		_, err := fmt.Fprintln(w, e)
		return err
	}
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
	Text         string         `json:"text,omitempty"`
	Messages     []shownMessage `json:"messages,omitempty"`
}

type shownMessage struct {
	Kind    string          `json:"kind"`
	Method  string          `json:"method,omitempty"`
	Target  string          `json:"target,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Token   json.RawMessage `json:"token,omitempty"`
	Error   string          `json:"error,omitempty"`
	Request uint64          `json:"request,omitempty"`
	Latency string          `json:"latency,omitempty"`
}

func entryLine(e replay.Entry) shownEntry {
	line := shownEntry{e.Seq, e.At.String(), e.Kind, e.Dir.String(), e.Stream, e.Size, e.Unterminated, e.Text, nil}
	for _, m := range e.Messages {
		sm := shownMessage{m.Kind.String(), m.Method, m.Target, json.RawMessage(m.ID), json.RawMessage(m.Token), m.Failure, m.Request, ""}
		if m.Latency > 0 {
			sm.Latency = m.Latency.String()
		}
		line.Messages = append(line.Messages, sm)
	}
	return line
}
