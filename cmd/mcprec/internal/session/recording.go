package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Recording is a whole session in memory, as serve and drive play it.
type Recording struct {
	Name     string
	Argument string // names it in a command to copy; "" of standard input
	File     string // to be written again; "" for a session of the store, or in the log of a host
	Lines    bool   // event N is line N of the file
	Header   store.Header
	Events   []store.Event // as recorded, without masks
	Now      time.Duration // of a session that was live, since its start; 0: it was over
	Masker   Masker        // masks output, also the secrets in the command and URL of the live peer
}

// OpenRecording reads a whole session, named as in [Open]. The command or the URL belongs to the live
// peer to which the session is played. If errs is a terminal, a long reading draws a line there.
func OpenRecording(ctx context.Context, h Home, arg string, in io.Reader, errs io.Writer, command []string, url string) (*Recording, error) {
	s, err := Open(ctx, h, arg, in, errs)
	if err != nil {
		return nil, err
	}
	s.Watch(errs)
	r := &Recording{Name: s.Name, Argument: s.Argument(), Lines: s.Lines, Now: s.Now()}
	if s.Store == nil && s.decoded == nil {
		r.File = arg
	}
	r.Events, err = Collect(s.Recorded(ctx, 1, store.ReadOptions{}))
	if err == nil && len(r.Events) > 0 {
		r.Header, err = store.ParseHeader(r.Events[0].Payload)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	d, err := h.Masker(nil)
	r.Masker = d.Of(store.Header{Command: slices.Concat(r.Header.Command, command), URL: cmp.Or(url, r.Header.URL)})
	return r, err
}

// NewRecording returns a session that was made for a live peer, whose command or URL it has. argument names it in a
// command to copy.
func NewRecording(h Home, argument string, events []store.Event, command []string, url string) (*Recording, error) {
	r := &Recording{Name: argument, Argument: argument, Events: events}
	var err error
	if r.Header, err = store.ParseHeader(events[0].Payload); err != nil {
		return nil, err
	}
	d, err := h.Masker(nil)
	r.Masker = d.Of(store.Header{Command: command, URL: url})
	return r, err
}

// Project passes the recorded events through a projection.
func (r *Recording) Project(projection timeline.Projection) error {
	return timeline.Project(timeline.Steps(jsonl.Each(r.Events)), projection)
}

// Lost counts the unrecorded events.
func (r *Recording) Lost() (lost uint64) {
	for _, e := range r.Events {
		if e.Kind != store.Lost {
			continue
		}
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			lost += max(info.Frames, 1)
		}
	}
	return lost
}

// HasRequests reports whether the recorded client sent a request.
func (r *Recording) HasRequests() bool {
	for _, e := range r.Events {
		if e.Kind != store.Frame || e.Dir != transport.ClientToServer {
			continue
		}
		messages, _ := e.AsFrame().Messages()
		for _, m := range messages {
			if m.Kind() == transport.Request {
				return true
			}
		}
	}
	return false
}

// Unanswered names the first request of the client without an answer in a recording, and counts
// the others; the result is "" if every request has an answer. A cancelled request needs no answer, and a
// subscription has none while it lasts. Of a session over HTTP it is "": there the answer may
// be a status.
func Unanswered(events []store.Event) string {
	if slices.ContainsFunc(events, func(e store.Event) bool { return e.Stream > 0 }) {
		return ""
	}
	first, more := "", 0
	for _, c := range timeline.CallsOf(events).Unanswered() {
		switch {
		case c.Dir != transport.ClientToServer || c.Cancelled != 0 || c.Method == mcp.MethodListen:
		case first == "":
			first = fmt.Sprintf("#%d %s", c.Request, output.PlainName(c.Method))
			if c.Target != "" {
				first += " " + output.PlainName(c.Target)
			}
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" and %d more", more)
	}
	return first
}
