package main

import (
	"encoding/json"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// entryPrinter prints entries in a format.
type entryPrinter struct {
	print func(replay.Entry) error
	close func() error // writes what comes at the end
}

func nothing() error { return nil }

// newEntryPrinter returns what prints an entry a line, with pairs also the events that
// it belongs with.
func newEntryPrinter(s *screen, format string, pairs bool) entryPrinter {
	if format == "json" {
		enc := encoderTo(s)
		return entryPrinter{func(e replay.Entry) error { return enc.Encode(entryLine(e, pairs)) }, nothing}
	}
	return entryPrinter{func(e replay.Entry) error {
		head, direction, text := e.Parts()
		s.paint(dim, head)
		s.paint(ofDirection(e.Dir), direction)
		s.paint(ofTone(e.Tone()), text)
		if p := e.Pairs(); pairs && p != "" {
			s.paint(dim, ", "+p)
		}
		s.paint(unpainted, "\n")
		return nil
	}, nothing}
}

// newSequencePrinter returns what draws entries as a sequence diagram.
func newSequencePrinter(s *screen) entryPrinter {
	d := sequence.New(s.width, func(l sequence.Line) error {
		s.paint(dim, l.Head)
		s.paint(cyan, l.Left)
		how := ofTone(l.Tone)
		if l.Tone == replay.Usual {
			how = ofDirection(l.Dir)
		}
		s.paint(how, l.Lane)
		s.paint(magenta, strings.TrimRight(l.Tail, " "))
		s.paint(unpainted, "\n")
		return nil
	})
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		return d.Heading()
	}
	return entryPrinter{func(e replay.Entry) error {
		if err := begin(); err != nil {
			return err
		}
		return d.Add(e)
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

func entryLine(e replay.Entry, pairs bool) shownEntry {
	line := shownEntry{e.Seq, e.At.String(), e.Kind, e.Dir.String(), e.Stream, e.Size, e.Unterminated, e.Redacted, e.Cut, e.Text, nil}
	for _, m := range e.Messages {
		sm := shownMessage{m.Kind.String(), m.Method, m.Target, json.RawMessage(m.ID), json.RawMessage(m.Token), m.Failure, m.Request, "", 0}
		if m.Latency > 0 {
			sm.Latency = m.Latency.String()
		}
		if pairs && m.Call != nil {
			sm.pair(m)
		}
		line.Messages = append(line.Messages, sm)
	}
	return line
}

// pair names the other event of the call, and of a request how long that took.
func (sm *shownMessage) pair(m replay.EntryMessage) {
	if m.Kind != transport.Request {
		sm.Request = m.Call.Request
		return
	}
	if sm.Response = m.Call.Response; sm.Response != 0 {
		sm.Latency = m.Call.Latency.String()
	}
}
