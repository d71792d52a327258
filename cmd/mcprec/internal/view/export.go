package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"iter"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask"
)

// Exported says what [Export] writes.
type Exported struct {
	Sessions []*session.Session // one, or two to compare
	// Select passes on the events that are written, numbered anew.
	Select func(iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error]
	Large  bool // also a session beyond the limits
	// Client, Server and Capacity are of a replay beside the usual ones; "": free, and 0.
	Client, Server, Capacity string
}

// File is a page with its data.
type File struct {
	HTML    []byte
	Secrets []session.SecretCount // that were masked, of each session
}

// The limits of a file that is not forced.
const (
	mostEvents = 20_000
	mostBytes  = 20 << 20
)

// data is what the page reads in place of its server's answers.
type data struct {
	Session  any            `json:"session"`
	Other    any            `json:"other,omitempty"`
	Rows     any            `json:"rows"`
	Overview any            `json:"overview"`
	Falls    any            `json:"waterfall"`
	Findings any            `json:"findings"`
	Why      any            `json:"why"`
	Options  options        `json:"options"`
	States   []stateChange  `json:"states"`
	Frames   map[uint64]any `json:"messages"`
	Runs     *replaysInFile `json:"runs"`
	Fits     []fit          `json:"fits"`
	Compare  any            `json:"compare"`
}

// stateChange is how the state of a session changed with an event.
type stateChange struct {
	Seq  uint64   `json:"seq"`
	Set  []fact   `json:"set,omitempty"`
	Gone []string `json:"gone,omitempty"`
}

// Export returns the page of a session as one file, which asks for nothing. It does not close the
// sessions.
func Export(ctx context.Context, x Exported) (file File, err error) {
	var opened []*index
	for _, s := range x.Sessions {
		introduction, err := s.Introduction(ctx)
		if err != nil {
			return file, err
		}
		events, count, err := x.events(ctx, s)
		if err != nil {
			return file, err
		}
		file.Secrets = append(file.Secrets, count)
		header, err := store.ParseHeader(events[0].Payload)
		if err != nil {
			return file, fmt.Errorf("%s: %w", s.Name, err)
		}
		i := newIndex(&source{session: s, header: header, masker: s.Masker, events: events, introduction: introduction})
		if i.grow(ctx); i.err != nil {
			return file, i.err
		}
		opened = append(opened, i)
	}
	d, err := x.data(ctx, opened)
	if err != nil {
		return file, err
	}
	file.HTML, err = document(d)
	return file, err
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// events reads the masked events that the file has.
func (x *Exported) events(ctx context.Context, s *session.Session) (events []store.Event, count session.SecretCount, err error) {
	var unread error
	masked := func(yield func(store.Event, error) bool) {
		count, unread = s.Masker.Find(s.Recorded(ctx, 1, store.ReadOptions{}), func(e store.Event, _ []mask.Finding) error {
			if !yield(e, nil) {
				return errEnough
			}
			return nil
		})
		if unread != nil && !errors.Is(unread, errEnough) {
			yield(store.Event{}, unread)
		}
	}
	size := 0
	for e, err := range x.Select(masked) {
		if err != nil {
			return nil, count, err
		}
		events = append(events, e)
		if size += len(e.Payload); !x.Large && (size > mostBytes || len(events) > mostEvents) {
			return nil, count, cli.Usagef("%s has more than %d events or %d MB; use --filter to leave some out,"+
				" or --force to write a large file", s.Name, mostEvents, mostBytes>>20)
		}
	}
	if len(events) == 0 {
		return nil, count, fmt.Errorf("%s: it has no event", s.Name)
	}
	return events, count, nil
}

// data collects the answers that the page would ask for.
func (x *Exported) data(ctx context.Context, opened []*index) (data, error) {
	about := newShown(Options{Sessions: x.Sessions})
	d, rows, err := about.data(ctx, opened[0])
	if err != nil {
		return d, err
	}
	d.Options, d.Runs, err = x.runs(ctx, opened[0], rows)
	if err == nil {
		d.Fits = d.Runs.fits
	}
	if err != nil || len(opened) == 1 {
		return d, err
	}
	d.Other, err = about.describe(ctx, opened[1])
	if err != nil {
		return d, err
	}
	d.Compare, err = compare(ctx, [2]*index(opened))
	return d, err
}

// data collects the answers about one session, and returns its rows too.
func (x shown) data(ctx context.Context, i *index) (d data, rows []picture.Row, err error) {
	d.Session, err = x.describe(ctx, i)
	if err != nil {
		return d, nil, err
	}
	drawn, err := i.rows(ctx, 1, uint64(len(i.source.events)))
	if err != nil {
		return d, nil, err
	}
	d.Rows = drawn
	d.Overview = i.drawn.Overview(800)
	d.Falls = i.drawn.Waterfall(waterfallBars, waterfallParts)
	d.Findings, err = i.findingsSoFar(nil)
	if err != nil {
		return d, nil, err
	}
	d.Why, err = i.why(ctx)
	if err != nil {
		return d, nil, err
	}
	d.Frames = map[uint64]any{}
	for _, e := range i.source.events {
		d.Frames[e.Seq] = frameAnswer(e, 0)
	}
	d.States, err = stateChanges(i.source.events)
	return d, drawn.Rows, err
}

// stateChanges folds the events, and returns how the facts changed with each.
func stateChanges(events []store.Event) (changes []stateChange, err error) {
	changes = []stateChange{}
	follower := state.NewFollower()
	for step, err := range timeline.Steps(jsonl.Each(events)) {
		if err != nil {
			return nil, err
		}
		set, gone, err := follower.Take(step)
		if err != nil {
			return nil, err
		}
		change := stateChange{Seq: step.Seq}
		for _, f := range set {
			change.Set = append(change.Set, factOf(f))
		}
		for _, f := range gone {
			change.Gone = append(change.Gone, factOf(f).Key)
		}
		if change.Set != nil || change.Gone != nil {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// document returns the page with its data, and a policy that lets nothing else run.
func document(d data) ([]byte, error) {
	script, err := dist.ReadFile("dist/view.js")
	if err != nil {
		return nil, err
	}
	style, err := dist.ReadFile("dist/view.css")
	if err != nil {
		return nil, err
	}
	if bytes.Contains(bytes.ToLower(script), []byte("</script")) || bytes.Contains(bytes.ToLower(style), []byte("</style")) {
		return nil, errors.New("the page's own code would end its element")
	}
	text, err := json.Marshal(d) // escapes <, >, & and the separators U+2028 and U+2029
	if err != nil {
		return nil, err
	}
	hash := func(code []byte) string {
		sum := sha256.Sum256(code)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	own := "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) + "; img-src data:; " +
		"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	head := `<meta http-equiv="Content-Security-Policy" content="` + html.EscapeString(own) + `">` +
		`<link rel="icon" href="data:,"><style>` + string(style) + `</style>`
	end := `<script type="application/json" id="data">` + string(text) + `</script>` +
		`<script type="module">` + string(script) + `</script>`
	return fmt.Appendf(nil, page, head, end), nil
}
