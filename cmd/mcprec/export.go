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

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/otlp"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

type exportOptions struct {
	home
	filterFlag
	format  string
	dir     string
	out     cli.File
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
		Example: `  mcprec export -o session.jsonl
  mcprec export --format mermaid SESSION
  mcprec export --format raw --dir s2c --secrets SESSION`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runExport(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "the `FORMAT`", exportFormatNames()...)
	f.StringVar(&o.dir, "dir", "", "with raw: the `STREAM`, c2s, s2c or stderr")
	addOutFlags(cmd, &o.out, "-", "the `FILE` to write; - is standard output")
	f.BoolVar(&o.salvage, "salvage", false, "write what can be saved of a damaged session")
	completeWords(cmd, "dir", "c2s", "s2c", "stderr")
	return cmd
}

func runExport(cmd *cobra.Command, options exportOptions, arg string) (err error) {
	defer cli.LimitMemory()()
	format := exportFormats[slices.Index(exportFormatNames(), options.format)]
	switch {
	case options.format != "raw" && options.dir != "":
		return cli.Usagef("--dir is for --format raw")
	case options.format == "raw" && options.dir == "":
		return cli.Usagef("--format raw needs --dir c2s, s2c or stderr: each is a stream of its own")
	case options.format == "raw":
		if err := oneOf("dir", options.dir, "c2s", "s2c", "stderr"); err != nil {
			return err
		}
	}
	if options.fits, err = options.parse(); err != nil {
		return err
	}
	if err := options.out.Check(); err != nil {
		return err
	}
	open := session.Open
	if options.salvage {
		open = session.OpenDamaged
	}
	s, err := open(cmd.Context(), options.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	if options.out.Name != "" && options.out.Name != "-" { // else the events stand where the line would
		s.Watch(cmd.ErrOrStderr())
	}
	if options.fits.Ahead() {
		options.endings, err = s.Endings(cmd.Context())
		if err != nil {
			return err
		}
	}
	options.warnings = cmd.ErrOrStderr()
	events := s.Events(cmd.Context(), 1, store.ReadOptions{})
	if options.expr != "" && options.format != "text" && options.format != "mermaid" {
		events = filterEvents(events, options)
	}
	return options.out.Write(exactOut(cmd), func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		return flush(b, format.write(b, events, options))
	})
}

// writeRaw writes the bytes of one stream. If some are missing, it writes the others and
// returns an error.
func writeRaw(w *bufio.Writer, events iter.Seq2[store.Event, error], options exportOptions) error {
	var gaps []string // the Seqs of lost events
	var lost uint64   // bytes
	var reason string // of the last
	var last uint64   // the frame whose newline is not written yet, as a note may say that it had none
	endLast := func() {
		if last > 0 {
			_ = w.WriteByte('\n') // the writer keeps its error
			last = 0
		}
	}
	err := session.Each(events, func(event store.Event) error {
		stream := event.Dir.String()
		switch event.Kind {
		case store.Note:
			frame, isLast := store.EndsWithoutNewline(event)
			if isLast && frame == last {
				last = 0
			}
			return nil
		case store.Lost:
			info, err := store.DecodePayload[store.LostInfo](event)
			if err == nil && slices.Contains(info.Streams, options.dir) {
				gaps = append(gaps, fmt.Sprint(event.Seq))
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
		if stream != options.dir {
			return nil
		}
		endLast()
		if !event.Unterminated {
			last = event.Seq
		}
		_, err := w.Write(event.Payload)
		return err
	})
	endLast()
	if gaps == nil {
		return err
	}
	return errors.Join(fmt.Errorf("%s is not whole: up to %s %s not recorded at event %s (%s); the rest was written",
		options.dir, phrase.Plural(lost, "byte"), phrase.Agree(lost, "was", "were"), strings.Join(gaps, ", "), reason), err)
}

type exportFormat struct {
	name string
	says string // for the help
	// write writes the events, which it can read once. It need not flush.
	write func(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error
}

// exportFormats are all formats, in the order of the help.
//
// To add one: add it here, with what writes it. The help, the completion and doors_test.go read this table.
var exportFormats = []exportFormat{
	{"jsonl", "JSON Lines, the text form that a test loads and import reads back", func(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
		return session.Encode(w, events)
	}},
	{"raw", "the bytes of one stream, exact with --secrets: --dir c2s, s2c or stderr", writeRaw},
	{"text", "the lines of mcprec show", func(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
		return o.project(events, func(entry timeline.Entry) error {
			_, err := fmt.Fprintln(output.NewWriter(w), entry)
			return err
		})
	}},
	{"mermaid", "a sequence diagram for documents: text of mermaid.js", writeMermaid},
	{"har", "an HTTP Archive, for the network panel of a browser; import reads it back", escaped(foreign.WriteHAR)},
	{"otlp", "OpenTelemetry traces, a span a call, as JSON", escaped(otlp.WriteJSON)},
}

func exportFormatNames() []string {
	return namesOf(exportFormats, func(format exportFormat) string { return format.name })
}

// escaped returns a writer of another program's format whose recorded texts cannot drive a
// terminal.
func escaped(write func(io.Writer, iter.Seq2[store.Event, error], string) error) func(*bufio.Writer, iter.Seq2[store.Event, error], exportOptions) error {
	return func(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
		p := output.NewWriter(w)
		return errors.Join(write(p, events, release), p.Close())
	}
}

// writeMermaid writes a sequenceDiagram up to the size that mermaid.js draws.
func writeMermaid(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
	out := output.NewWriter(w)
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
	t := timeline.NewTranscript(func(entry timeline.Entry) error {
		if !o.fits.Selects(&entry) {
			return nil
		}
		return f(entry)
	})
	t.Foresee(o.endings)
	return timeline.Project(timeline.Steps(events), t)
}

// filterEvents yields the events that fit as a session of its own, which every command can
// read. It has the beginning, the end and the lost events of the whole session. Its events are
// numbered anew, and a note at its end counts the events left out.
func filterEvents(events iter.Seq2[store.Event, error], options exportOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		n := filteredLog{expr: options.expr, kept: map[transport.Direction][]uint64{}}
		fits := false
		t := timeline.NewTranscript(func(entry timeline.Entry) error {
			fits = options.fits.Selects(&entry)
			return nil
		})
		t.Foresee(options.endings)
		for step, err := range timeline.Steps(events) {
			if err == nil {
				err = t.Take(step)
			}
			if err != nil {
				yield(step.Event, err)
				return
			}
			for _, kept := range n.take(step.Event, fits) {
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

// take returns the events that replace event: none, event itself, or before the last event the note.
func (n *filteredLog) take(event store.Event, fits bool) (list []store.Event) {
	n.read++
	n.at = event.At
	switch event.Kind {
	case store.Opened:
		if h, err := store.ParseHeader(event.Payload); err == nil && h.ID != "" {
			id := store.DeriveSessionID([]byte(string(h.ID) + "\n" + n.expr)) // of this session and this filter
			event.Payload = bytes.Replace(event.Payload, []byte(`"`+string(h.ID)+`"`), []byte(`"`+string(id)+`"`), 1)
		}
	case store.Closed:
		n.closed = true
		list = append(list, n.note())
		if info, err := store.DecodePayload[store.ClosedInfo](event); err == nil {
			info.Frames = n.frames
			event.Payload = store.EncodePayload(info)
		}
	case store.Lost:
	default:
		_, aboutFrame := store.EndsWithoutNewline(event) // it goes with its frame
		if !fits && !aboutFrame {
			return nil
		}
	}
	if event, fits = n.renumber(event); !fits {
		return nil
	}
	n.kept[event.Dir] = append(n.kept[event.Dir], n.read)
	return append(list, n.add(event, n.read))
}

// add gives an event its Seq.
func (n *filteredLog) add(event store.Event, was uint64) store.Event {
	n.was = append(n.was, was)
	event.Seq = uint64(len(n.was))
	if event.Kind == store.Frame {
		n.frames++
	}
	return event
}

// renumber changes the Seqs that an event names. It returns false if the frame of a delivered
// event, or of a note that no newline ended it, was left out.
func (n *filteredLog) renumber(event store.Event) (store.Event, bool) {
	switch event.Kind {
	case store.Note:
		if frame, ok := store.EndsWithoutNewline(event); ok {
			now := n.now(frame)
			event.Payload = store.EncodePayload(store.WithoutNewline(now))
			return event, now != 0
		}
	case store.Delivered:
		info, err := store.DecodePayload[store.DeliveredInfo](event)
		if err != nil {
			return event, true
		}
		i, exact := slices.BinarySearch(n.kept[event.Dir], info.Upto)
		if !exact && i == 0 {
			return event, false
		}
		if !exact {
			i--
		}
		info.Upto = n.now(n.kept[event.Dir][i])
		event.Payload = store.EncodePayload(info)
	case store.Stalled: // where frames are left out its offsets lead nowhere
		info, err := store.DecodePayload[store.StalledInfo](event)
		if err == nil {
			info.Frame = n.now(info.Frame)
			info.Read = 0
			info.Passed = 0
			event.Payload = store.EncodePayload(info)
		}
	case store.HTTP:
		info, err := store.DecodePayload[store.HTTPInfo](event)
		if err == nil && info.SSE != nil && info.SSE.Frame != 0 {
			info.SSE.Frame = n.now(info.SSE.Frame)
			event.Payload = store.EncodePayload(&info)
		}
	}
	return event, true
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
