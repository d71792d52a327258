package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	out     outFile
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
	o.out.addFlags(cmd, "-", "the `FILE` to write; - is standard output")
	f.BoolVar(&o.salvage, "salvage", false, "write what can be saved of a damaged session, with a lost event in the\nplace of each that is missing")
	completeWords(cmd, "dir", "c2s", "s2c", "stderr")
	return cmd
}

func runExport(cmd *cobra.Command, o exportOptions, arg string) (err error) {
	defer limitMemory()()
	if err := oneOf("format", o.format, exportFormatNames()...); err != nil { // by --to
		return err
	}
	format := exportFormats[slices.Index(exportFormatNames(), o.format)]
	switch {
	case o.format != "raw" && o.dir != "":
		return usagef("--dir is for --format raw")
	case o.format == "raw" && o.dir == "":
		return usagef("--format raw needs --dir c2s, s2c or stderr: each is a stream of its own")
	case o.format == "raw":
		if err := oneOf("dir", o.dir, "c2s", "s2c", "stderr"); err != nil {
			return err
		}
	}
	if o.fits, err = o.parse(); err != nil {
		return err
	}
	if err := o.out.check(); err != nil {
		return err
	}
	open := openSession
	if o.salvage {
		open = openDamaged
	}
	s, err := open(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	if o.fits.Ahead() {
		if o.endings, err = s.endings(cmd.Context()); err != nil {
			return err
		}
	}
	o.warnings = cmd.ErrOrStderr()
	events := s.events(cmd.Context(), 1, store.ReadOptions{})
	if o.expr != "" && o.format != "text" && o.format != "mermaid" {
		events = filterEvents(events, o)
	}
	return o.out.write(exactOut(cmd), func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		return errors.Join(format.write(b, events, o), b.Flush())
	})
}

// writeRaw writes the bytes of one stream. If some are missing, it writes the others and
// returns an error.
func writeRaw(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
	var gaps missing
	stream := o.dir
	for e, err := range events {
		if err != nil {
			return errors.Join(gaps.err(stream), err)
		}
		of := e.Dir.String()
		switch e.Kind {
		case store.Frame:
		case store.Stderr:
			of = "stderr"
		case store.Lost:
			if err := gaps.add(e, stream); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		if of != stream {
			continue
		}
		if _, err := w.Write(transport.AppendFrame(w.AvailableBuffer(), e.AsFrame())); err != nil {
			return err
		}
	}
	return gaps.err(stream)
}

// missing collects the gaps of a stream.
type missing struct {
	at     []string
	bytes  uint64
	reason string
}

func (m *missing) add(e store.Event, stream string) error {
	info, err := store.DecodePayload[store.LostInfo](e)
	if err != nil || !slices.Contains(info.Streams, stream) {
		return err
	}
	m.at = append(m.at, fmt.Sprint(e.Seq))
	m.bytes += info.Bytes
	m.reason = info.Reason
	return nil
}

func (m *missing) err(stream string) error {
	if m.at == nil {
		return nil
	}
	return fmt.Errorf("%s is not whole: up to %s %s not recorded at event %s (%s); the rest was written",
		stream, phrase.Plural(m.bytes, "byte"), phrase.Agree(m.bytes, "was", "were"), strings.Join(m.at, ", "), m.reason)
}

// exportFormat is a format of export.
type exportFormat struct {
	name string
	says string // for the help
	// write writes the events, which it can read once. It need not flush.
	write func(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error
}

// exportFormats are all formats, in the order of the help.
var exportFormats = []exportFormat{
	{"jsonl", "JSON Lines, the text form that a test loads and import reads back", func(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
		return encode(w, events)
	}},
	{"raw", "the bytes of one stream, exact with --secrets: --dir c2s, s2c or stderr", writeRaw},
	{"text", "the lines of mcprec show", writeText},
	{"mermaid", "a sequence diagram for documents: text of mermaid.js", writeMermaid},
	{"har", "an HTTP Archive, for the network panel of a browser; import reads it back", escaped(foreign.WriteHAR)},
	{"otlp", "OpenTelemetry traces, a span a call, as JSON", escaped(otlp.WriteJSON)},
}

// exportFormatNames returns the values of --format.
func exportFormatNames() []string {
	return namesOf(exportFormats, func(f exportFormat) string { return f.name })
}

// escaped returns a writer of another program's format whose recorded texts cannot drive a
// terminal.
func escaped(write func(io.Writer, iter.Seq2[store.Event, error], string) error) func(*bufio.Writer, iter.Seq2[store.Event, error], exportOptions) error {
	return func(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
		p := &plainWriter{w: w}
		return errors.Join(write(p, events, release), p.Close())
	}
}

// writeText writes the lines of show.
func writeText(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
	out := &plainWriter{w: w}
	return o.project(events, func(e timeline.Entry) error {
		_, err := fmt.Fprintln(out, e)
		return err
	})
}

// writeMermaid writes a sequenceDiagram up to the size that mermaid.js draws.
func writeMermaid(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
	out := &plainWriter{w: w}
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
