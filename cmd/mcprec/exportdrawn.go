package main

import (
	"bufio"
	"fmt"
	"iter"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/store"
)

// writeText writes the lines of show.
func writeText(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error {
	out := &plainWriter{w: w}
	return o.project(events, func(e replay.Entry) error {
		_, err := fmt.Fprintln(out, e)
		return err
	})
}

// writeMermaid writes a sequenceDiagram, as much of it as mermaid.js draws.
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

// project gives the entries that fit to f; they keep the numbers of their events.
func (o exportOptions) project(events iter.Seq2[store.Event, error], f func(replay.Entry) error) error {
	t := replay.NewTranscript(func(e replay.Entry) error {
		if !o.fits.Selects(&e) {
			return nil
		}
		return f(e)
	})
	t.Foresee(o.endings)
	return replay.Project(events, t)
}
