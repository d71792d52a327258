package view

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// sessionAnswer is the answer to /api/session.
type sessionAnswer struct {
	ID           store.SessionID      `json:"id"`
	Label        string               `json:"label"`
	Title        string               `json:"title"`
	Command      []string             `json:"command"`
	URL          string               `json:"url"`
	Transport    string               `json:"transport"`
	Start        time.Time            `json:"start"`
	State        store.State          `json:"state"`
	Events       uint64               `json:"events"`
	At           time.Duration        `json:"at"`
	Now          time.Duration        `json:"now"` // of a session that goes on; 0 of any other
	Indexed      uint64               `json:"indexed"`
	Done         bool                 `json:"done"`
	HTTP         bool                 `json:"http"`
	Rails        picture.Rails        `json:"rails"`
	Findings     int                  `json:"findings"`
	Delivered    int                  `json:"delivered"`
	Folds        int                  `json:"folds"` // events that are no messages
	Introduction session.Introduction `json:"introduction"`
	Expect       string               `json:"expect"`
	Sessions     int                  `json:"sessions"`
	Mode         string               `json:"mode"`
	Token        string               `json:"token"`
	Error        string               `json:"error,omitempty"`
}

// shown says what the page is about.
type shown struct {
	list     bool   // of sessions
	mode     string // of the page of a session: session, compare or explore
	sessions int
	token    string // of an exploration
}

func newShown(options Options) shown {
	x := shown{list: options.List != nil, mode: "session", sessions: max(len(options.Sessions), 1), token: options.Token}
	switch {
	case x.sessions > 1:
		x.mode = "compare"
	case x.token != "":
		x.mode = "explore"
	}
	return x
}

// describe returns what is known of a session so far.
func (x shown) describe(ctx context.Context, i *index) (answer sessionAnswer, err error) {
	head, word, err := i.source.head(ctx)
	if err != nil {
		return answer, err
	}
	h, now := i.source.header, i.now()
	i.mu.Lock()
	defer i.mu.Unlock()
	answer = sessionAnswer{
		ID: h.ID, Label: h.Label, Title: i.source.title(), Command: append([]string{}, h.Command...), URL: h.URL,
		Transport: h.Transport, Start: h.Start, State: word,
		Events: max(head.Seq, i.drawn.Len()), At: head.At, Now: now, Indexed: i.drawn.Len(), Done: i.done, HTTP: i.isHTTP,
		Rails: i.drawn.Rails(), Findings: i.found, Delivered: i.delivered, Folds: i.folds,
		Introduction: i.source.introduction, Expect: h.Expect,
		Sessions: x.sessions, Mode: x.mode, Token: x.token,
	}
	if i.err != nil {
		answer.Error = i.err.Error()
	}
	return answer, nil
}

// rowsAnswer is the answer to /api/rows.
type rowsAnswer struct {
	First   uint64         `json:"first"`
	Rows    []picture.Row  `json:"rows"`
	Calls   []picture.Call `json:"calls"`
	Indexed uint64         `json:"indexed"`
}

// The most of rows, of buckets and of findings in one answer.
const (
	maxRows     = 2000
	maxBuckets  = 4000
	maxFindings = 1000
)

// answerRows answers with rows and the calls that run beside them.
func (x *index) answerRows(r *http.Request) (any, error) {
	from, err := number(r, "from", 1)
	if err != nil {
		return nil, err
	}
	n, err := number(r, "n", 256)
	if err != nil {
		return nil, err
	}
	return x.rows(r.Context(), max(from, 1), min(n, maxRows))
}

func (x *index) overview(r *http.Request) (any, error) {
	n, err := number(r, "n", 800)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drawn.Overview(int(min(max(n, 1), maxBuckets))), nil
}

// The bars of the waterfall, and the parts of its time.
const (
	waterfallBars  = 300
	waterfallParts = 600
)

// waterfall answers with the session to the scale of time.
func (x *index) waterfall(r *http.Request) (any, error) {
	parts, err := number(r, "n", waterfallParts)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drawn.Waterfall(waterfallBars, int(min(parts, waterfallParts))), nil
}

// between answers with the first and the last event of a range of time: from and to, in nanoseconds.
func (x *index) between(r *http.Request) (any, error) {
	from, err := number(r, "from", 0)
	if err != nil {
		return nil, err
	}
	to, err := number(r, "to", 0)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	first := x.drawn.SeqAt(time.Duration(from))
	last := x.drawn.SeqAt(time.Duration(to) + 1)
	if x.drawn.Time(last) > time.Duration(to) && last > first {
		last--
	}
	return map[string]uint64{"first": first, "last": last}, nil
}

// fact is a line about the state of the session.
type fact struct {
	Key   string         `json:"key"`
	Topic string         `json:"topic"`
	Text  string         `json:"text"`
	Rank  int            `json:"rank"`            // of the topic
	Order uint64         `json:"order"`           // among the facts of the topic; facts of one event may share it
	Asked *time.Duration `json:"asked,omitempty"` // of an open call: when
}

// stateAnswer is the answer to /api/state.
type stateAnswer struct {
	Seq   uint64        `json:"seq"`
	At    time.Duration `json:"at"`
	Facts []fact        `json:"facts"`
}

func (x *index) answerState(r *http.Request) (any, error) {
	seq, err := number(r, "at", 1)
	if err != nil {
		return nil, err
	}
	isThere, err := x.waitFor(r.Context(), seq)
	if err != nil {
		return nil, err
	}
	if !isThere {
		indexed, _ := x.progress()
		text := fmt.Sprintf("the session is read up to #%d so far; choose the event again", indexed)
		return stateAnswer{Seq: seq, Facts: []fact{{Key: "reading", Topic: "reading", Text: text}}}, nil
	}
	at, err := x.stateAt(r.Context(), seq)
	if err != nil {
		return nil, err
	}
	answer := stateAnswer{Seq: at.Seq(), At: at.At(), Facts: []fact{}}
	for _, f := range at.View(0).Facts() {
		answer.Facts = append(answer.Facts, factOf(f))
	}
	return answer, nil
}

// waitFor waits until the index has come to an event, or to the end of the session. A fold of the
// events before would take as long, and slow the index down. One request waits at most: a page that
// asks for another event has left the first, and a browser has few connections to a server. waitFor
// reports false if another request has taken the place of this one.
func (x *index) waitFor(ctx context.Context, seq uint64) (isThere bool, err error) {
	grown, end := x.growth.watch()
	defer end()
	indexed, done := x.progress()
	if done || indexed >= seq {
		return true, nil
	}
	head, _, err := x.source.head(ctx)
	if err != nil {
		return false, err
	}
	seq = min(seq, head.Seq)
	replaced := make(chan struct{})
	x.mu.Lock()
	if x.waiting != nil {
		close(x.waiting)
	}
	x.waiting = replaced
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.waiting == replaced {
			x.waiting = nil
		}
	}()
	for {
		indexed, done := x.progress()
		if done || indexed >= seq {
			return true, nil
		}
		select {
		case <-grown:
		case <-replaced:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// stateAt returns the state after an event, folded on from a state that is kept.
func (x *index) stateAt(ctx context.Context, seq uint64) (*state.State, error) {
	x.mu.Lock()
	kept := x.states.Nearest(seq)
	x.mu.Unlock()
	at := kept.State
	if at.Seq() >= seq {
		return at, nil
	}
	for step, err := range kept.Model.Steps(x.source.read(ctx, at.Seq()+1)) {
		if err == nil {
			err = at.Take(step)
		}
		if err != nil {
			return nil, err
		}
		if step.Seq >= seq {
			break
		}
	}
	return at, nil
}

// factOf returns a fact as the page reads it, which adds how long a call is open: it knows the time.
func factOf(f state.Fact) fact {
	made := fact{Key: f.Topic + " " + f.Key, Topic: f.Topic, Text: f.Text, Rank: slices.Index(state.Topics(), f.Topic), Order: f.Order}
	if f.Lasts() {
		made.Asked = &f.Asked
	}
	return made
}

// framePage is how much of a payload one answer has.
const framePage = 1 << 20

func (x *index) frame(r *http.Request) (any, error) {
	seq, err := number(r, "seq", 1)
	if err != nil {
		return nil, err
	}
	from, err := number(r, "from", 0)
	if err != nil {
		return nil, err
	}
	for e, err := range x.source.read(r.Context(), max(seq, 1)) {
		if err != nil {
			return nil, err
		}
		return frameAnswer(e, from), nil
	}
	return nil, store.ErrNotFound
}

// frameAnswer returns a page of an event's payload.
func frameAnswer(e store.Event, from uint64) any {
	from = min(from, uint64(len(e.Payload)))
	part := e.Payload[from:min(from+framePage, uint64(len(e.Payload)))]
	answer := map[string]any{"seq": e.Seq, "size": len(e.Payload), "from": from, "shown": len(part),
		"cut": e.Cut, "redacted": e.Redacted,
	}
	if utf8.Valid(part) {
		answer["text"] = string(part)
	} else {
		answer["base64"] = base64.StdEncoding.EncodeToString(part)
	}
	return answer
}

// findingAnswer is a finding of mcprec check.
type findingAnswer struct {
	Rule     string   `json:"rule"`
	Title    string   `json:"title"`
	Severity string   `json:"severity"`
	Section  string   `json:"section"`
	Text     string   `json:"text"`
	Events   []uint64 `json:"events"`
}

func (x *index) findingsSoFar(*http.Request) (any, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := []findingAnswer{}
	for _, f := range x.findings {
		list = append(list, findingAnswer{f.Rule, f.Title, f.Severity.String(), f.Section, f.Text, append([]uint64{}, f.Events...)})
	}
	return map[string]any{"done": x.done, "total": x.found, "findings": list}, nil
}

// find answers with the Seqs of the events that a filter selects.
func find(w http.ResponseWriter, r *http.Request, x *index) error {
	fits, err := filter.Parse(r.URL.Query().Get("filter"))
	if err != nil {
		return err
	}
	var found []byte
	t, err := x.transcript(r.Context(), fits.Ahead(), func(e timeline.Entry) error {
		if fits.Selects(&e) {
			found = binary.LittleEndian.AppendUint32(found, uint32(e.Seq))
		}
		return nil
	})
	if err == nil {
		err = timeline.Project(timeline.Steps(x.source.readAll(r.Context())), t)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(found) // the page may be gone
	return nil
}
