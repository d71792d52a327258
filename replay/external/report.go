package external

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
)

// Report is what a search has found. Its lists are never nil in JSON but for NotHeld and Unstable.
type Report struct {
	Findings []Finding     `json:"findings"`
	Played   int           `json:"played"`  // schedules
	Planned  int           `json:"planned"` // of the search
	Ended    string        `json:"ended,omitempty"`
	Frames   int           `json:"frames"`   // of the client
	Requests int           `json:"requests"` // of these
	NotHeld  []string      `json:"not_held,omitempty"`
	Unstable []uint64      `json:"unstable,omitempty"` // requests whose answers differ by themselves
	Took     time.Duration `json:"took_ns"`
}

// Finding is a fault of the server that several fresh processes have shown.
type Finding struct {
	Kind     Fault     `json:"kind"`
	Certain  bool      `json:"certain"` // false: something else than mcprec could still have moved the server
	Requests []Request `json:"requests"`
	Stand    string    `json:"stand,omitempty"` // how the server stands, at a hang
	Detail   string    `json:"detail,omitempty"`
	Choices  []string  `json:"choices"` // in words
	Token    string    `json:"token"`
	Held     int       `json:"held"` // processes that showed it
	Of       int       `json:"of"`
}

// Request is a request of the recorded client.
type Request struct {
	Event uint64 `json:"event"`
	What  string `json:"what"`
}

// Passed reports whether nothing was found.
func (r Report) Passed() bool { return len(r.Findings) == 0 }

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.text())
		b.WriteString("\n")
	}
	for _, text := range r.NotHeld {
		fmt.Fprintf(&b, "seen, and not again: %s\n", text)
	}
	found := "nothing was found"
	if count := len(r.Findings); count > 0 {
		found = phrase.Plural(uint64(count), "finding")
	}
	fmt.Fprintf(&b, "%s of %s with %s in %v: %s\n", phrase.Plural(uint64(r.Played), "schedule"), phrase.Plural(uint64(r.Frames), "frame"),
		phrase.Plural(uint64(r.Requests), "request"), r.Took.Round(time.Second), found)
	switch r.Ended {
	case "":
	case "findings":
		fmt.Fprintf(&b, "the search ended with these findings, before %d schedules\n", r.Planned)
	default:
		fmt.Fprintf(&b, "the search was ended before %d schedules: %s\n", r.Planned, r.Ended)
	}
	return b.String()
}

func (f Finding) text() string {
	var names []string
	for _, r := range f.Requests {
		names = append(names, fmt.Sprintf("%s (#%d)", r.What, r.Event))
	}
	requests := strings.Join(names, ", ")
	what := ""
	switch f.Kind {
	case Hang:
		what = "HANG (external): "
		if !f.Certain {
			what = "SUSPECT, a hang: "
		}
		switch {
		case requests != "":
			what += "no answer to " + requests + "; " + f.Stand
		default:
			what += f.Stand
		}
		if f.Detail != "" {
			what += "; " + f.Detail
		}
	case Died:
		what = "DIED: the server ended"
		if f.Detail != "" {
			what += ": " + f.Detail
		}
	case Lost:
		what = "LOST: the client ended its output behind a request, and the server ended without an answer to " + requests
	case Lingers:
		what = "LINGERS after the end of its input: "
		if !f.Certain {
			what = "SUSPECT, lingers after the end of its input: "
		}
		what += f.Stand
	case NotSerial:
		what = "NOT SERIALISABLE: no order of these calls explains the answers: " + requests
	}
	text := fmt.Sprintf("%s; %d of %d fresh processes\n", what, f.Held, f.Of)
	if f.Kind == NotSerial && f.Detail != "" {
		text += "  " + f.Detail + "\n"
	}
	for _, choice := range f.Choices {
		text += "  " + choice + "\n"
	}
	return text + "  token: " + f.Token + "\n"
}
