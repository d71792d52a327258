package view

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
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
	Indexed      uint64               `json:"indexed"`
	Done         bool                 `json:"done"`
	HTTP         bool                 `json:"http"`
	Rails        picture.Rails        `json:"rails"`
	Findings     int                  `json:"findings"`
	Delivered    int                  `json:"delivered"`
	Introduction session.Introduction `json:"introduction"`
	Expect       string               `json:"expect"`
	Sessions     int                  `json:"sessions"`
	Mode         string               `json:"mode"`
	Token        string               `json:"token"`
	Error        string               `json:"error,omitempty"`
}

// session answers with what is known of a session so far; i is nil for a list.
func (x *Server) session(ctx context.Context, i *index) (any, error) {
	if i == nil {
		return sessionAnswer{Mode: "list"}, nil
	}
	head, word, err := i.source.head(ctx)
	if err != nil {
		return nil, err
	}
	h := i.source.header
	length, _ := i.progress()
	i.mu.Lock()
	defer i.mu.Unlock()
	a := sessionAnswer{
		ID: h.ID, Label: h.Label, Title: i.source.title(), Command: append([]string{}, h.Command...), URL: h.URL,
		Transport: h.Transport, Start: h.Start, State: word,
		Events: max(head.Seq, length), At: head.At, Indexed: i.drawn.Len(), Done: i.done, HTTP: i.isHTTP,
		Rails: i.drawn.Rails(), Findings: i.found, Delivered: i.delivered,
		Introduction: i.source.introduction, Expect: h.Expect,
		Sessions: max(len(x.indexes), 1), Mode: "session", Token: x.Token,
	}
	switch {
	case len(x.indexes) > 1:
		a.Mode = "compare"
	case x.Token != "":
		a.Mode = "explore"
	}
	if i.err != nil {
		a.Error = i.err.Error()
	}
	return a, nil
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

// fact is a line about the state of the session.
type fact struct {
	Key    string   `json:"key"`
	Text   string   `json:"text"`
	Events []uint64 `json:"events"`
}

func (x *index) answerState(r *http.Request) (any, error) {
	seq, err := number(r, "at", 1)
	if err != nil {
		return nil, err
	}
	at, err := x.stateAt(r.Context(), seq)
	if err != nil {
		return nil, err
	}
	return map[string]any{"seq": at.Seq(), "facts": factsOf(at.View(0))}, nil
}

// factsOf returns the lines of mcprec state, with the events that they name.
func factsOf(v state.View) []fact {
	facts := []fact{}
	for _, f := range v.Facts() {
		events := []uint64{}
		for _, named := range eventsNamed().FindAllStringSubmatch(f.Text, -1) {
			if seq, err := strconv.ParseUint(named[1], 10, 53); err == nil {
				events = append(events, seq)
			}
		}
		facts = append(facts, fact{f.Topic + " " + f.Key, f.String(), events})
	}
	return facts
}

// eventsNamed finds the numbers of events in a line.
var eventsNamed = phrase.Regexp(`#([0-9]+)`)

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

// why answers with what the session waits for, or with how it stood when it ended.
func (x *Server) why(i *index, r *http.Request) (any, error) {
	live, isLive, err := i.liveNow(r.Context(), x.Words)
	if err != nil {
		return nil, err
	}
	return answerWhy(x.Words, i, live, isLive), nil
}

// answerWhy says in words what the session waits for.
func answerWhy(words Words, i *index, live why.Live, isLive bool) whyAnswer {
	i.mu.Lock()
	report := i.check.Waits(live, stuckAfter)
	i.mu.Unlock()
	lines, report := words.Why(i.source.session, i.source.header, report, isLive)
	return whyAnswer{report.Stuck(), report.Now, lines, append([]why.Finding{}, report.Findings...)}
}

// stuckAfter is how long what is open must have lasted to be stuck, as in mcprec why.
const stuckAfter = 5 * time.Second

// whyAnswer is the answer to /api/why.
type whyAnswer struct {
	Stuck    bool          `json:"stuck"`
	Now      time.Duration `json:"now"`
	Text     []string      `json:"text"`
	Findings []why.Finding `json:"findings"`
}

// liveNow returns what is known of the session beside its log, if it goes on.
func (x *index) liveNow(ctx context.Context, words Words) (live why.Live, isLive bool, err error) {
	x.mu.Lock()
	done := x.done
	x.mu.Unlock()
	if done || x.source.session.Now() == 0 {
		return why.Live{Mask: x.source.masker.Text}, false, nil
	}
	live, err = words.Live(ctx, x.source.session, x.source.header)
	return live, true, err
}

// find answers with the Seqs of the events that a filter selects.
func find(w http.ResponseWriter, r *http.Request, x *index) error {
	fits, err := filter.Parse(r.URL.Query().Get("filter"))
	if err != nil {
		return err
	}
	var found []byte
	t, err := x.source.transcript(r.Context(), fits.Ahead(), func(e timeline.Entry) error {
		if fits.Selects(&e) {
			found = binary.LittleEndian.AppendUint32(found, uint32(e.Seq))
		}
		return nil
	})
	if err == nil {
		err = timeline.Project(x.source.readAll(r.Context()), t)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(found) // the page may be gone
	return nil
}
