package output

import (
	"encoding/json"
	"io"
	"time"
)

// The formats that a command's --format may name.
const (
	Text  = "text"
	JSON  = "json"
	JUnit = "junit"
	SARIF = "sarif"
)

// Document is all that a command prints, in sections. It can be written more than once.
type Document struct {
	Head
	Sections []Section
	Passed   bool // the command exits with 0
}

// Head is what JUnit and SARIF say of a document as a whole.
type Head struct {
	Name       string // the suite's, such as "mcprec diff"
	Took       time.Duration
	Properties []Property
	Version    string // mcprec's
	Rules      []Rule // all that a result may name
}

// Section is a part of a document.
type Section struct {
	Text    func(w io.Writer) error
	Value   any
	Cases   func() []TestCase
	Results func() []Result
}

// Write writes the document in a format.
func (d Document) Write(w io.Writer, format string) error {
	p := NewPrinter(w, format)
	p.Head = d.Head
	for _, s := range d.Sections {
		if err := p.Print(s); err != nil {
			return err
		}
	}
	return p.Close()
}

// Printer writes a document whose sections come one by one.
type Printer struct {
	Head    // to be complete when the printer is closed
	w       io.Writer
	format  string
	encoder *json.Encoder
	cases   []TestCase
	results []Result
}

// NewPrinter returns a Printer in a format.
func NewPrinter(w io.Writer, format string) *Printer {
	return &Printer{w: w, format: format, encoder: NewEncoder(w)}
}

// Print writes a section, or keeps it until Close.
func (p *Printer) Print(section Section) error {
	switch {
	case p.format == Text && section.Text != nil:
		return section.Text(p.w)
	case p.format == JSON && section.Value != nil:
		return p.encoder.Encode(section.Value)
	case p.format == JUnit && section.Cases != nil:
		p.cases = append(p.cases, section.Cases()...)
	case p.format == SARIF && section.Results != nil:
		p.results = append(p.results, section.Results()...)
	}
	return nil
}

// Close writes the sections that were kept.
func (p *Printer) Close() error {
	switch p.format {
	case JUnit:
		return writeJUnit(p.w, p.Head, p.cases)
	case SARIF:
		return writeSARIF(p.w, p.Head, p.results)
	}
	return nil
}

// NewEncoder returns an encoder that writes an object a line, and leaves <, > and & as they
// stand in frames.
func NewEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
