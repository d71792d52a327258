package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/outfile"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/otlp"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/transport"
)

type exportOptions struct {
	home
	filterFlag
	format  string
	dir     string
	out     outfile.File
	salvage bool

	fits     *filter.Filter
	endings  *timeline.Endings // nil if the filter does not need them
	warnings io.Writer
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [SESSION]",
		Short: "Write a session as a fixture, in another format, or one of its streams byte for byte",
		Long: `export writes a session in one of these formats:

` + helpTable(10, exportFormats, func(f exportFormat) (string, string) { return f.name, f.says }) + `
--filter selects events as that of mcprec show does. What is written is a session of its
own, numbered anew, with a note of what was left out; text and mermaid keep the numbers.

` + sessionHelp + "\n\n" + exitLine,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runExport(cmd, o, firstOf(args)) },
	}
	o.home.addMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "the `FORMAT`", exportFormatNames()...)
	f.StringVarP(&o.format, "to", "T", "jsonl", "") // as it was called until 0.2
	_ = f.MarkHidden("to")
	f.StringVar(&o.dir, "dir", "", "the stream that raw gives back: c2s, s2c or stderr")
	addOutFlags(cmd, &o.out, "-", "the `FILE` to write; - is standard output")
	f.BoolVar(&o.salvage, "salvage", false, "write what can be saved of a damaged session, with a lost event in the\nplace of each that is missing")
	completeWords(cmd, "dir", "c2s", "s2c", "stderr")
	return cmd
}

func runExport(cmd *cobra.Command, o exportOptions, arg string) (err error) {
	defer process.LimitMemory()()
	if err := oneOf("format", o.format, exportFormatNames()...); err != nil { // by --to
		return err
	}
	format := exportFormats[slices.Index(exportFormatNames(), o.format)]
	switch {
	case o.format != "raw" && o.dir != "":
		return exit.Usagef("--dir is for --format raw")
	case o.format == "raw" && o.dir == "":
		return exit.Usagef("--format raw needs --dir c2s, s2c or stderr: each is a stream of its own")
	case o.format == "raw":
		if err := oneOf("dir", o.dir, "c2s", "s2c", "stderr"); err != nil {
			return err
		}
	}
	if o.fits, err = o.parse(); err != nil {
		return err
	}
	if err := o.out.Check(); err != nil {
		return err
	}
	open := session.Open
	if o.salvage {
		open = session.OpenDamaged
	}
	s, err := open(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	if o.fits.Ahead() {
		if o.endings, err = s.Endings(cmd.Context()); err != nil {
			return err
		}
	}
	o.warnings = cmd.ErrOrStderr()
	events := s.Events(cmd.Context(), 1, store.ReadOptions{})
	if o.expr != "" && o.format != "text" && o.format != "mermaid" {
		events = filterEvents(events, o)
	}
	return o.out.Write(exactOut(cmd), func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		return errors.Join(format.write(b, events, o), b.Flush())
	})
}

// writeRaw writes the bytes of one stream. If some are missing, it writes the others and
// returns an error.
func writeRaw(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
	var gaps []string // the Seqs of lost events
	var lost uint64   // bytes
	var reason string // of the last
	err := session.Each(events, func(e store.Event) error {
		stream := e.Dir.String()
		switch e.Kind {
		case store.Lost:
			info, err := store.DecodePayload[store.LostInfo](e)
			if err == nil && slices.Contains(info.Streams, o.dir) {
				gaps = append(gaps, fmt.Sprint(e.Seq))
				lost += info.Bytes
				reason = info.Reason
			}
			return err
		case store.Stderr:
			stream = "stderr"
		case store.Frame:
		default:
			return nil
		}
		if stream != o.dir {
			return nil
		}
		_, err := w.Write(transport.AppendFrame(w.AvailableBuffer(), e.AsFrame()))
		return err
	})
	if gaps == nil {
		return err
	}
	return errors.Join(fmt.Errorf("%s is not whole: up to %s %s not recorded at event %s (%s); the rest was written",
		o.dir, phrase.Plural(lost, "byte"), phrase.Agree(lost, "was", "were"), strings.Join(gaps, ", "), reason), err)
}

type exportFormat struct {
	name string
	says string // for the help
	// write writes the events, which it can read once. It need not flush.
	write func(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error
}

// exportFormats are all formats, in the order of the help.
var exportFormats = []exportFormat{
	{"jsonl", "JSON Lines, the text form that a test loads and import reads back", func(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
		return session.Encode(w, events)
	}},
	{"raw", "the bytes of one stream, exact with --secrets: --dir c2s, s2c or stderr", writeRaw},
	{"text", "the lines of mcprec show", func(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
		return o.project(events, func(e timeline.Entry) error {
			_, err := fmt.Fprintln(terminal.NewWriter(w), e)
			return err
		})
	}},
	{"mermaid", "a sequence diagram for documents: text of mermaid.js", writeMermaid},
	{"har", "an HTTP Archive, for the network panel of a browser; import reads it back", escaped(foreign.WriteHAR)},
	{"otlp", "OpenTelemetry traces, a span a call, as JSON", escaped(otlp.WriteJSON)},
}

func exportFormatNames() []string {
	return namesOf(exportFormats, func(f exportFormat) string { return f.name })
}

// escaped returns a writer of another program's format whose recorded texts cannot drive a
// terminal.
func escaped(write func(io.Writer, iter.Seq2[store.Event, error], string) error) func(*bufio.Writer, iter.Seq2[store.Event, error], exportOptions) error {
	return func(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
		p := terminal.NewWriter(w)
		return errors.Join(write(p, events, release), p.Close())
	}
}

// writeMermaid writes a sequenceDiagram up to the size that mermaid.js draws.
func writeMermaid(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
	out := terminal.NewWriter(w)
	d := sequence.NewMermaid(sequence.MermaidLimit, func(line string) error {
		_, err := fmt.Fprintln(out, line)
		return err
	})
	if err := o.project(events, d.Add); err != nil {
		return err
	}
	left, err := d.Close()
	if left > 0 {
		fmt.Fprintf(o.warnings, "mcprec: the diagram leaves out the last %s: mermaid.js draws no more than %d characters; choose with --filter, or see mcprec show --format sequence\n",
			phrase.Plural(left, "event"), sequence.MermaidLimit)
	}
	return err
}

// project calls f with the entries that fit the filter. They keep the numbers of their events.
func (o exportOptions) project(events iter.Seq2[store.Event, error], f func(timeline.Entry) error) error {
	t := timeline.NewTranscript(func(e timeline.Entry) error {
		if !o.fits.Selects(&e) {
			return nil
		}
		return f(e)
	})
	t.Foresee(o.endings)
	return timeline.Project(events, t)
}

// filterEvents yields the events that fit as a session of its own, which every command can
// read. It has the beginning, the end and the lost events of the whole session. Its events are
// numbered anew, and a note at its end counts the events left out.
func filterEvents(events iter.Seq2[store.Event, error], o exportOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		n := filteredLog{expr: o.expr, kept: map[transport.Direction][]uint64{}}
		fits := false
		t := timeline.NewTranscript(func(e timeline.Entry) error {
			fits = o.fits.Selects(&e)
			return nil
		})
		t.Foresee(o.endings)
		for e, err := range events {
			if err == nil {
				err = t.Apply(e)
			}
			if err != nil {
				yield(e, err)
				return
			}
			for _, kept := range n.take(e, fits) {
				if !yield(kept, nil) {
					return
				}
			}
		}
		if !n.closed {
			yield(n.note(), nil)
		}
	}
}

// filteredLog numbers the events that are kept.
type filteredLog struct {
	expr   string
	kept   map[transport.Direction][]uint64 // the old Seqs
	was    []uint64                         // the old Seqs of all; the new Seq is the index + 1
	read   uint64
	frames uint64
	at     time.Duration
	closed bool
}

// take returns the events that replace e: none, e itself, or before the last event the note.
func (n *filteredLog) take(e store.Event, fits bool) (list []store.Event) {
	n.read++
	n.at = e.At
	switch e.Kind {
	case store.Opened:
		if h, err := store.ParseHeader(e.Payload); err == nil && h.ID != "" {
			id := store.DeriveSessionID([]byte(string(h.ID) + "\n" + n.expr)) // of this session and this filter
			e.Payload = bytes.Replace(e.Payload, []byte(`"`+string(h.ID)+`"`), []byte(`"`+string(id)+`"`), 1)
		}
	case store.Closed:
		n.closed = true
		list = append(list, n.note())
		if info, err := store.DecodePayload[store.ClosedInfo](e); err == nil {
			info.Frames = n.frames
			e.Payload = store.EncodePayload(info)
		}
	case store.Lost:
	default:
		if !fits {
			return nil
		}
	}
	if e, fits = n.renumber(e); !fits {
		return nil
	}
	n.kept[e.Dir] = append(n.kept[e.Dir], n.read)
	return append(list, n.add(e, n.read))
}

// add gives an event its Seq.
func (n *filteredLog) add(e store.Event, was uint64) store.Event {
	n.was = append(n.was, was)
	e.Seq = uint64(len(n.was))
	if e.Kind == store.Frame {
		n.frames++
	}
	return e
}

// renumber changes the Seqs that an event names. It returns false if the frame of a delivered
// event was left out.
func (n *filteredLog) renumber(e store.Event) (store.Event, bool) {
	switch e.Kind {
	case store.Delivered:
		info, err := store.DecodePayload[store.DeliveredInfo](e)
		if err != nil {
			return e, true
		}
		i, exact := slices.BinarySearch(n.kept[e.Dir], info.Upto)
		if !exact && i == 0 {
			return e, false
		}
		if !exact {
			i--
		}
		info.Upto = n.now(n.kept[e.Dir][i])
		e.Payload = store.EncodePayload(info)
	case store.Stalled: // where frames are left out its offsets lead nowhere
		info, err := store.DecodePayload[store.StalledInfo](e)
		if err == nil {
			info.Frame, info.Read, info.Passed = n.now(info.Frame), 0, 0
			e.Payload = store.EncodePayload(info)
		}
	case store.HTTP:
		info, err := store.DecodePayload[store.HTTPInfo](e)
		if err == nil && info.SSE != nil && info.SSE.Frame != 0 {
			info.SSE.Frame = n.now(info.SSE.Frame)
			e.Payload = store.EncodePayload(&info)
		}
	}
	return e, true
}

// now returns the new Seq of an event, 0 if it was left out.
func (n *filteredLog) now(was uint64) uint64 {
	if i, ok := slices.BinarySearch(n.was, was); ok {
		return uint64(i + 1)
	}
	return 0
}

// note returns the note that counts the events left out.
func (n *filteredLog) note() store.Event {
	kept := len(n.was)
	if n.closed {
		kept++ // the last event, after the note
	}
	text, _ := json.Marshal(n.expr) // a string can always be encoded
	payload := fmt.Sprintf("mcprec export --filter %s: %d of %s", text, kept, phrase.Plural(n.read, "event"))
	return n.add(store.Event{At: n.at, Kind: store.Note, Dir: transport.NoDirection, Payload: []byte(payload)}, n.read)
}
