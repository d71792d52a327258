package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// countedSession is a session as mcprec list --wide --format json has it, and what its summary counts.
type countedSession struct {
	report.ListedSession
	Requests uint64 `json:"requests"` // of the client
	Errors   uint64 `json:"errors"`
	Hung     uint64 `json:"hung"`
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
	stuck := map[store.SessionID]report.Hangs{}
	for _, s := range list {
		if state != "" && state != "stuck" && string(s.State) != state || state == "stuck" && s.State != store.Live {
			continue
		}
		if s.State == store.Live {
			found, fault := report.HangsIn(ctx, r.db.Session(s), report.StuckAfter)
			if fault == nil {
				stuck[s.ID] = found
			}
		}
		if state != "stuck" || stuck[s.ID].Stuck() {
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
	rows := []countedSession{}
	var text strings.Builder
	page := newPage(usualAnswer)
	for _, s := range shown {
		sum := sums[s.ID]
		row := countedSession{report.ListSession(s, stuck[s.ID], report.IntroductionOf(r.db.Masker, sum)), sum.Requests, sum.Errors, sum.Hung}
		line := row.line(s, stuck[s.ID]) + "\n"
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

// line returns the session in a line.
func (r countedSession) line(s store.Session, found report.Hangs) string {
	parts := []string{string(r.ID), found.StateText(r.State)}
	start := ""
	if !r.Start.IsZero() {
		start = r.Start.UTC().Format(time.RFC3339)
	}
	for _, part := range []struct{ word, text string }{
		{"started", start}, {"label", session.Labels(s.Header)}, {"server", r.Server}, {"client", r.Client}, {"command", cmp.Or(s.URL, strings.Join(s.Command, " "))},
	} {
		if part.text != "" {
			parts = append(parts, part.word+" "+output.Plain(clip(part.text, 300)))
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
	report.Entry
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
	h := hit{id, report.EntryOf(e, false, false)}
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
