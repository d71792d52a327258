package view

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/filter"
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
	Rails        railCounts           `json:"rails"`
	Findings     int                  `json:"findings"`
	Introduction session.Introduction `json:"introduction"`
	Expect       string               `json:"expect"`
	Sessions     int                  `json:"sessions"`
	Mode         string               `json:"mode"`
	Token        string               `json:"token"`
	Error        string               `json:"error,omitempty"`
}

type railCounts struct {
	Client int `json:"client"`
	Server int `json:"server"`
}

func (x *Server) session(ctx context.Context, i *index) (any, error) {
	head, word, err := i.source.head(ctx)
	if err != nil {
		return nil, err
	}
	h := i.source.header
	i.mu.Lock()
	defer i.mu.Unlock()
	a := sessionAnswer{
		ID: h.ID, Label: h.Label, Title: i.source.title(), Command: h.Command, URL: h.URL, Transport: h.Transport, Start: h.Start, State: word,
		Events: max(head.Seq, uint64(len(i.rows))), At: head.At, Indexed: uint64(len(i.rows)), Done: i.done, HTTP: i.isHTTP,
		Rails: railCounts{len(i.rails[1]), len(i.rails[2])}, Findings: len(i.findings), Introduction: i.source.introduction, Expect: h.Expect,
		Sessions: len(x.indexes), Mode: "session",
	}
	if len(x.indexes) > 1 {
		a.Mode = "compare"
	}
	if i.err != nil {
		a.Error = i.err.Error()
	}
	return a, nil
}

// rowsOf answers with rows and the calls that overlap them.
func (x *index) rowsOf(r *http.Request) (any, error) {
	from, err := number(r, "from", 1)
	if err != nil {
		return nil, err
	}
	n, err := number(r, "n", 256)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	from = max(from, 1)
	first := min(from-1, uint64(len(x.rows)))
	rows := append([]row{}, x.rows[first:min(first+min(n, 2000), uint64(len(x.rows)))]...)
	last := first + uint64(len(rows))
	calls := []call{}
	for _, c := range x.calls {
		if c.Request <= last && (c.End == 0 || c.End > first) {
			calls = append(calls, *c)
		}
	}
	return map[string]any{"first": from, "rows": rows, "calls": calls}, nil
}

func (x *index) overview(r *http.Request) (any, error) {
	n, err := number(r, "n", 800)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	buckets := int(min(max(n, 1), 4000, uint64(max(1, len(x.rows)))))
	c2s, s2c, fault, finding, gap := make([]int, buckets), make([]int, buckets), make([]int, buckets), make([]int, buckets), make([]int64, buckets)
	for i, row := range x.rows {
		b := i * buckets / len(x.rows)
		switch {
		case row.Dir == "c2s":
			c2s[b]++
		case row.Dir == "s2c":
			s2c[b]++
		}
		if row.Tone == "fault" {
			fault[b]++
		}
		if x.found[row.Seq] {
			finding[b]++
		}
		if i > 0 {
			gap[b] = max(gap[b], row.At-x.rows[i-1].At)
		}
	}
	return map[string]any{"events": len(x.rows), "buckets": buckets, "c2s": c2s, "s2c": s2c, "fault": fault, "finding": finding, "gap": gap}, nil
}

// fact is a line about the state of the session.
type fact struct {
	Key    string   `json:"key"`
	Text   string   `json:"text"`
	Events []uint64 `json:"events"`
}

func (x *index) stateAt(r *http.Request) (any, error) {
	seq, err := number(r, "at", 1)
	if err != nil {
		return nil, err
	}
	at, _, err := x.source.stateAt(r.Context(), seq)
	if err != nil {
		return nil, err
	}
	facts := []fact{}
	for _, f := range at.View(0).Facts() {
		facts = append(facts, fact{f.Topic + " " + f.Key, f.String(), []uint64{}})
	}
	return map[string]any{"seq": at.Seq(), "facts": facts}, nil
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
	for e, err := range x.source.read(r.Context(), max(seq, 1), false) {
		if err != nil {
			return nil, err
		}
		from := min(from, uint64(len(e.Payload)))
		part := e.Payload[from:min(from+framePage, uint64(len(e.Payload)))]
		answer := map[string]any{"seq": e.Seq, "size": len(e.Payload), "from": from, "shown": len(part), "cut": e.Cut, "redacted": e.Redacted}
		if utf8.Valid(part) {
			answer["text"] = string(part)
		} else {
			answer["base64"] = base64.StdEncoding.EncodeToString(part)
		}
		return answer, nil
	}
	return nil, store.ErrNotFound
}

const maxFindings = 1000

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
	for _, f := range x.findings[:min(len(x.findings), maxFindings)] {
		list = append(list, findingAnswer{f.Rule, f.Title, f.Severity.String(), f.Section, f.Text, append([]uint64{}, f.Events...)})
	}
	return map[string]any{"done": x.done, "total": len(x.findings), "findings": list}, nil
}

func (x *index) whyNow(*http.Request) (any, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	report := x.why.Report(why.Live{Now: x.source.session.Now(), Mask: x.source.masker.Text}, 5*time.Second)
	lines, findings := []string{}, []why.Finding{}
	for _, f := range report.Findings {
		lines = append(lines, terminal.Plain(x.source.masker.Text(f.Text)))
		findings = append(findings, f)
	}
	return map[string]any{"stuck": report.Stuck(), "now": report.Now, "text": lines, "findings": findings}, nil
}

// find answers with the Seqs of the events that a filter selects.
func (x *Server) find(w http.ResponseWriter, r *http.Request) {
	index, err := x.index(r)
	if err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	fits, err := filter.Parse(r.URL.Query().Get("filter"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	var found []byte
	t, err := index.source.session.Transcript(r.Context(), false, func(e timeline.Entry) error {
		if fits.Selects(&e) {
			found = binary.LittleEndian.AppendUint32(found, uint32(e.Seq))
		}
		return nil
	})
	if err == nil {
		err = timeline.Project(index.source.read(r.Context(), 1, false), t)
	}
	if err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(found)
}
