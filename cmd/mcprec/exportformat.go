package main

import (
	"bufio"
	"fmt"
	"iter"
	"strings"

	"github.com/mcprec/mcprec/fixtures/foreign"
	"github.com/mcprec/mcprec/replay/otlp"
	"github.com/mcprec/mcprec/store"
)

// exportFormat is a way in which export writes a session.
type exportFormat struct {
	name string
	says string // for the help: what it is
	// write writes the events, which come in their order and once. It need not flush.
	write func(w *bufio.Writer, events iter.Seq2[store.Event, error], o exportOptions) error
}

// exportFormats are all that there are, in the order of the help.
var exportFormats = []exportFormat{
	{"jsonl", "JSON Lines, the text form that a test loads and import reads back", writeJSONL},
	{"raw", "the bytes of one stream, exact with --secrets: --dir c2s, s2c or stderr", writeRaw},
	{"text", "the lines of mcprec show", writeText},
	{"mermaid", "a sequence diagram for documents: text of mermaid.js", writeMermaid},
	{"har", "an HTTP Archive, for the network panel of a browser; import reads it back", writeHAR},
	{"otlp", "OpenTelemetry traces, a span a call, as JSON", writeOTLP},
}

// exportFormatNames lists the names for a flag.
func exportFormatNames() (names []string) {
	for _, f := range exportFormats {
		names = append(names, f.name)
	}
	return names
}

// exportFormatHelp is the table for the help.
func exportFormatHelp() string {
	var b strings.Builder
	for _, f := range exportFormats {
		fmt.Fprintf(&b, "  %-10s  %s\n", f.name, f.says)
	}
	return b.String()
}

// exportFormatNamed returns the format with the name.
func exportFormatNamed(name string) (exportFormat, error) {
	for _, f := range exportFormats {
		if f.name == name {
			return f, nil
		}
	}
	return exportFormat{}, oneOf("format", name, exportFormatNames()...)
}

func writeJSONL(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
	return encode(w, events)
}

func writeHAR(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
	p := &plainWriter{w: w}
	if err := foreign.WriteHAR(p, events, release); err != nil {
		return err
	}
	return p.Close()
}

func writeOTLP(w *bufio.Writer, events iter.Seq2[store.Event, error], _ exportOptions) error {
	p := &plainWriter{w: w}
	if err := otlp.WriteJSON(p, events, release); err != nil {
		return err
	}
	return p.Close()
}
