package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	list, own, fault := r.visible(ctx, store.Query{})
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
			found, fault := report.HangsIn(ctx, r.db.Session(s), 0)
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
		if all == 0 && len(own) == 0 {
			a.add("nothing is recorded yet; a session is made with mcprec record -- COMMAND in front of a server's command")
		}
	}
	if hint := leftOut(own); hint != "" {
		a.add("%s", hint)
	}
	a.data, a.text = map[string]any{"sessions": rows}, text.String()
	return a, nil
}

// line returns the session in a line.
func (r countedSession) line(s store.Session, found report.Hangs) string {
	parts := []string{string(r.ID), found.StateText(r.State, s.Exit)}
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

// Limits of search.
const (
	searchBatch = 10 // sessions of which is found at once which fit
	sessionHits = 5  // of one session
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
	list, own, fault := r.visible(ctx, store.Query{})
	list, err = r.pick(ctx, list, wanted)
	if err != nil {
		return a, err
	}
	short, cancel := context.WithTimeout(ctx, r.limits.search)
	defer cancel()
	hits := &hitList{limit: args.count("limit"), page: newPage(usualAnswer), rows: []hit{}}
	done, searchFault := hits.search(short, r, list, fits)
	if fault = errors.Join(fault, searchFault); fault != nil {
		a.add("some of the store cannot be read: %s", r.db.Masker.Text(fault.Error()))
	}
	for _, id := range hits.cut {
		a.add("session %s has more; get_session with this filter shows them", id)
	}
	fmt.Fprintf(&hits.text, "%s in %d of %s\n", phrase.Plural(len(hits.rows), "event"), done, phrase.Plural(len(list), "session"))
	if done < len(list) {
		reason := "time was up"
		if hits.isFull {
			reason = "the answer is full"
		}
		hint := "narrow it with since, server or a filter tool:NAME"
		if done > 0 {
			hint = fmt.Sprintf("go on with before %s, or %s", list[done-1].ID, hint)
		}
		a.more = append([]string{fmt.Sprintf("%s: %d of %s searched; %s", reason, done, phrase.Plural(len(list), "session"), hint)}, a.more...)
	}
	if hint := leftOut(own); hint != "" {
		a.add("%s", hint)
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
	cut    []store.SessionID // sessions with events that fit beside those in rows
	isFull bool
}

// search searches sessions in the order of the list, until the answer is full or ctx ends. done of them
// are searched: one in which ctx ended, or for whose events the answer had no room, is not, and the
// answer has none of its events. fault says what could not be read of the others.
func (l *hitList) search(ctx context.Context, r *recordings, list []store.Session, fits *filter.Filter) (done int, fault error) {
	for done < len(list) && !l.isFull {
		batch := list[done:min(done+searchBatch, len(list))]
		fitting, batchFault := r.db.Fitting(ctx, batch, fits)
		if ctx.Err() != nil {
			return done, fault
		}
		fault = errors.Join(fault, batchFault)
		for _, s := range batch {
			if slices.ContainsFunc(fitting, func(f store.Session) bool { return f.ID == s.ID }) {
				found, more, err := hitsIn(ctx, r, s, fits)
				if err != nil && ctx.Err() != nil {
					return done, fault
				}
				fault = errors.Join(fault, err)
				taken := l.take(found)
				if taken == 0 && len(found) > 0 {
					return done, fault
				}
				if more || taken < len(found) {
					l.cut = append(l.cut, s.ID)
				}
			}
			done++
			if l.isFull {
				break
			}
		}
	}
	return done, fault
}

// take adds the first events of a session, until the answer is full, and returns how many it added.
func (l *hitList) take(found []foundEvent) (taken int) {
	for _, e := range found {
		if !l.page.takes(e.hit, e.line) {
			l.isFull = true
			return taken
		}
		taken++
		l.rows = append(l.rows, e.hit)
		l.text.WriteString(e.line)
		if len(l.rows) >= l.limit {
			l.isFull = true
			return taken
		}
	}
	return taken
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

// foundEvent is a hit, and its line in the text.
type foundEvent struct {
	hit
	line string
}

// hitsIn returns the first events of a session that fit. more says that there are others.
func hitsIn(ctx context.Context, r *recordings, s store.Session, fits *filter.Filter) (found []foundEvent, more bool, err error) {
	reading := session.Reading{First: 1, Ahead: fits.Ahead(), Whole: true}
	err = r.db.Session(s).Entries(ctx, reading, func(e timeline.Entry) error {
		if !fits.Selects(&e) {
			return nil
		}
		if len(found) == sessionHits {
			more = true
			return errEnough
		}
		_, direction, what := e.Parts()
		line := fmt.Sprintf("%s #%d at %v: %s\n", s.ID, e.Seq, phrase.Brief(e.At), output.Plain(direction+what))
		found = append(found, foundEvent{hit{s.ID, report.EntryOf(e, false, false)}, line})
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, more, err
}
