package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// listedSession is a session of list_sessions.
type listedSession struct {
	ID        store.SessionID `json:"id"`
	Start     string          `json:"start,omitempty"` // in UTC; of some recordings not known
	Took      string          `json:"took"`            // of a live session: up to its latest event
	State     store.State     `json:"state"`
	Stuck     string          `json:"stuck,omitempty"` // for how long
	Label     string          `json:"label,omitempty"`
	Command   string          `json:"command,omitempty"` // or the URL
	Transport string          `json:"transport"`
	Server    string          `json:"server,omitempty"`
	Client    string          `json:"client,omitempty"`
	Revision  string          `json:"revision,omitempty"`
	Frames    uint64          `json:"frames"`
	Requests  uint64          `json:"requests"` // of the client
	Errors    uint64          `json:"errors"`
	Hung      uint64          `json:"hung"`
	Lost      uint64          `json:"lost,omitempty"`
	Exit      string          `json:"exit,omitempty"`
}

// listSessions lists sessions.
func listSessions(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	wanted, err := parseSpan(args)
	if err != nil {
		return a, err
	}
	list, fault := r.visible(ctx, store.Query{})
	all := len(list)
	list, err = r.pick(ctx, list, wanted)
	if err != nil {
		return a, err
	}
	state := args.text("state")
	limit := args.count("limit")
	var picked []store.Session
	stuck := map[store.SessionID]string{}
	for _, s := range list {
		if state != "" && state != "stuck" && string(s.State) != state || state == "stuck" && s.State != store.Live {
			continue
		}
		if s.State == store.Live {
			found, fault := report.HangsIn(ctx, r.db.Session(s), report.StuckAfter)
			if fault == nil && found.Stuck() {
				stuck[s.ID] = stuckText(found)
			}
		}
		if state != "stuck" || stuck[s.ID] != "" {
			picked = append(picked, s)
		}
		if len(picked) > limit { // one more tells that there are more
			break
		}
	}
	shown := picked[:min(len(picked), limit)]
	sums, sumFault := r.db.Summaries(ctx, shown)
	if fault = errors.Join(fault, sumFault); fault != nil {
		a.add("some of the store cannot be read: %s", r.db.Masker.Text(fault.Error()))
	}
	r.db.Masker.Headers(shown)
	rows := []listedSession{}
	var text strings.Builder
	page := newPage(usualAnswer)
	for _, s := range shown {
		row := r.row(s, sums[s.ID], stuck[s.ID])
		line := row.String() + "\n"
		if !page.takes(row, line) {
			break
		}
		rows = append(rows, row)
		text.WriteString(line)
	}
	if len(rows) < len(picked) {
		a.add("there are more sessions; go on with before %s", rows[len(rows)-1].ID)
	}
	if len(rows) == 0 {
		fmt.Fprintf(&text, "no such session, of %s\n", phrase.Plural(all, "recorded session"))
		if all == 0 {
			a.add("nothing is recorded yet; a session is made with mcprec record -- COMMAND in front of a server's command")
		}
	}
	a.data, a.text = map[string]any{"sessions": rows}, text.String()
	return a, nil
}

// stuckText says for how long a session has been stuck, as mcprec list does.
func stuckText(found report.Hangs) string {
	longest := time.Duration(0)
	for _, f := range found.Findings {
		longest = max(longest, f.Waited)
	}
	text := longest.Truncate(time.Second).String()
	if found.Verdict() != "stuck" {
		text = "perhaps " + text
	}
	return text
}

// row returns the row of a session, whose header is masked.
func (r *recordings) row(s store.Session, sum summary.Summary, stuck string) listedSession {
	name := func(p summary.Peer) string { return phrase.Name(r.db.Masker.Text(p.String())) }
	command := s.URL
	if command == "" {
		command = strings.Join(s.Command, " ")
	}
	start := ""
	if !s.Start.IsZero() {
		start = s.Start.UTC().Format(time.RFC3339)
	}
	return listedSession{
		ID: s.ID, Start: start, Took: s.Head.At.Round(time.Millisecond).String(), State: s.State, Stuck: stuck,
		Label: clip(session.Labels(s.Header), 200), Command: clip(command, 300), Transport: s.Transport,
		Server: name(sum.Server), Client: name(sum.Client), Revision: phrase.Name(sum.Revision),
		Frames: s.Frames, Requests: sum.Requests, Errors: sum.Errors, Hung: sum.Hung, Lost: s.Lost, Exit: s.Exit,
	}
}

// String returns the row as a line.
func (r listedSession) String() string {
	state := string(r.State)
	if r.Stuck != "" {
		state += ", stuck " + r.Stuck
	}
	parts := []string{string(r.ID), state}
	for _, part := range []struct{ word, text string }{
		{"started", r.Start}, {"label", r.Label}, {"server", r.Server}, {"client", r.Client}, {"command", r.Command},
	} {
		if part.text != "" {
			parts = append(parts, part.word+" "+output.Plain(part.text))
		}
	}
	counts := fmt.Sprintf("%s, %s", phrase.Plural(r.Requests, "request"), phrase.Plural(r.Errors, "error"))
	if r.Hung > 0 {
		counts += ", " + phrase.Plural(r.Hung, "hang")
	}
	return strings.Join(append(parts, counts), "; ")
}

// hit is an event that search found.
type hit struct {
	Session store.SessionID `json:"session"`
	eventRow
}

// Limits of search. The sessions of a batch are searched or not.
const (
	searchTime  = 8 * time.Second
	searchBatch = 10
	sessionHits = 5 // of one session
)

// search finds events in all sessions.
func search(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	fits, err := searched(args)
	if err != nil {
		return a, err
	}
	wanted, err := parseSpan(args)
	if err != nil {
		return a, err
	}
	list, fault := r.visible(ctx, store.Query{})
	list, err = r.pick(ctx, list, wanted)
	if err != nil {
		return a, err
	}
	short, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	hits := &hitList{limit: args.count("limit"), page: newPage(usualAnswer), rows: []hit{}}
	done := 0
	for done < len(list) && !hits.isFull && short.Err() == nil {
		batch := list[done:min(done+searchBatch, len(list))]
		fitting, batchFault := r.db.Fitting(short, batch, fits)
		if short.Err() != nil {
			break
		}
		fault = errors.Join(fault, batchFault)
		last := batch[len(batch)-1].ID
		for _, s := range fitting {
			more, scanFault := hitsIn(short, r, s, fits, hits)
			fault = errors.Join(fault, scanFault)
			if more {
				a.add("session %s has more; get_session with this filter shows them", s.ID)
			}
			if hits.isFull {
				last = s.ID
				break
			}
		}
		for list[done].ID != last {
			done++
		}
		done++
	}
	if fault != nil {
		a.add("some of the store cannot be read: %s", r.db.Masker.Text(fault.Error()))
	}
	fmt.Fprintf(&hits.text, "%s in %d of %s\n", phrase.Plural(len(hits.rows), "event"), done, phrase.Plural(len(list), "session"))
	if done < len(list) {
		reason := "the answer is full"
		if short.Err() != nil {
			reason = "time was up"
		}
		hint := "narrow it with since, server or a filter tool:NAME"
		if done > 0 {
			hint = fmt.Sprintf("go on with before %s, or %s", list[done-1].ID, hint)
		}
		a.more = append([]string{fmt.Sprintf("%s: %d of %s searched; %s", reason, done, phrase.Plural(len(list), "session"), hint)}, a.more...)
	}
	a.data, a.text = map[string]any{"events": hits.rows, "searched": done, "sessions": len(list)}, hits.text.String()
	return a, nil
}

// hitList is what a search has found.
type hitList struct {
	limit  int
	page   *page
	rows   []hit
	text   strings.Builder
	isFull bool
}

// take adds an event, unless the answer is full.
func (l *hitList) take(id store.SessionID, e timeline.Entry) bool {
	_, direction, what := e.Parts()
	line := fmt.Sprintf("%s #%d at %v: %s\n", id, e.Seq, phrase.Brief(e.At), output.Plain(direction+what))
	h := hit{id, rowOf(e, 0)}
	if !l.page.takes(h, line) {
		l.isFull = true
		return false
	}
	l.rows = append(l.rows, h)
	l.text.WriteString(line)
	l.isFull = len(l.rows) >= l.limit
	return true
}

// searched returns the filter of a search.
func searched(args arguments) (*filter.Filter, error) {
	expression := strings.TrimSpace(args.text("filter"))
	if text := args.text("text"); text != "" {
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
		expression = strings.TrimSpace(quoted + " " + expression)
	}
	if expression == "" {
		return nil, errors.New("what is to be found? Give the argument text or filter")
	}
	fits, err := filter.Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("the argument filter: %w", err)
	}
	return fits, nil
}

// hitsIn adds the first events of a session that fit. more says that there are others.
func hitsIn(ctx context.Context, r *recordings, s store.Session, fits *filter.Filter, hits *hitList) (more bool, err error) {
	taken := 0
	reading := session.Reading{First: 1, Ahead: fits.Ahead(), Whole: true}
	err = r.db.Session(s).Entries(ctx, reading, func(e timeline.Entry) error {
		if !fits.Selects(&e) {
			return nil
		}
		if taken == sessionHits || hits.isFull || !hits.take(s.ID, e) {
			more = true
			return errEnough
		}
		taken++
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return more, err
}
