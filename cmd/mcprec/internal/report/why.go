package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Hangs is what why says of a session, in the stable form of why --format json.
type Hangs struct {
	Session store.SessionID `json:"session,omitempty"`
	Label   string          `json:"label,omitempty"`
	State   store.State     `json:"state,omitempty"`
	why.Report

	name string
	see  []string // for each finding the command that shows it
}

// Key tells the answers of a session apart but for durations.
func (a Hangs) Key() string {
	key := a.name + string(a.State) + a.Ended
	for _, f := range a.Findings {
		key += fmt.Sprint(f.Shape, f.Calls)
	}
	return key + strings.Join(a.Notes(), "")
}

// HangsIn reads a session and says what is stuck in it.
func HangsIn(ctx context.Context, s *session.Session, after time.Duration) (Hangs, error) {
	a := Hangs{Session: s.ID, name: s.Name}
	var fold why.Fold
	var header store.Header
	for step, err := range s.Steps(ctx, store.ReadOptions{Unfinished: true}) {
		if err == nil {
			err = fold.Take(step)
		}
		if err != nil {
			return a, s.Fault("why", err)
		}
		if step.Kind == store.Opened {
			header, _ = store.ParseHeader(step.Payload) // the fold reports a fault
		}
	}
	live, err := Live(ctx, s, header)
	if err != nil {
		return a, s.Fault("why", err)
	}
	told, err := fold.ReportContext(ctx, live, after)
	if err != nil {
		return a, s.Fault("why", err)
	}
	return HangsOf(s, header, told, live.Now > 0), nil
}

// HangsOf masks the header of a session with a report, which is masked, and fills in the arguments of its commands.
func HangsOf(s *session.Session, header store.Header, told why.Report, isLive bool) Hangs {
	a := Hangs{Session: s.ID, name: s.Name, Report: told}
	if isLive {
		a.State = store.Live
	}
	mask := s.Masker.Of(header)
	header = mask.Header(header)
	a.Label = session.Labels(header)
	command, url := "COMMAND", "URL"
	if len(header.Command) > 0 {
		command = phrase.ShellLine(header.Command...)
	}
	name := cmp.Or(s.Argument(), "-")
	fill := strings.NewReplacer("SESSION", name, "COMMAND", command, "URL", phrase.ShellWord(cmp.Or(header.URL, url)))
	for i := range a.Findings {
		f := &a.Findings[i]
		f.Next = "mcprec " + fill.Replace(f.Next)
		see := "mcprec view " + name
		for _, e := range f.Evidence {
			if e.Seq > 0 {
				see += fmt.Sprintf(" --at %d", e.Seq)
				break
			}
		}
		a.see = append(a.see, see)
	}
	return a
}

// Verdict returns the word for a session with findings: "may be stuck" where an idle client
// would look the same.
func (a Hangs) Verdict() string {
	for _, f := range a.Findings {
		if f.Shape != why.ClientSilent || f.Unknown == "" {
			return "stuck"
		}
	}
	return "may be stuck"
}

// Text prints an answer as a paragraph, its evidence and the next command.
func (a Hangs) Text(w io.Writer) error {
	head := output.Plain(a.name)
	if a.Label != "" {
		head += " (" + output.PlainName(a.Label) + ")"
	}
	if a.State == store.Live {
		head += ", live"
	}
	if !a.Stuck() {
		word := "nothing is stuck"
		if a.GoesRound() {
			word = "nothing is stuck, but the same comes again and again"
		}
		if strings.Contains(strings.Join(a.Notes(), ""), why.BrokeOff) {
			word = "nothing is known to be stuck"
		}
		if recent := a.Recent(); len(recent) > 0 && a.Ended == "" {
			word += ": " + strings.Join(recent, ", ") + fmt.Sprintf("; why calls %s stuck after %v", phrase.Agree(len(recent), "it", "them"), phrase.Brief(a.After))
		}
		fmt.Fprintf(w, "%s: %s\n", head, output.Plain(word))
		if a.Last != "" {
			fmt.Fprintf(w, "%s\n", output.Plain(strings.ToUpper(a.Last[:1])+a.Last[1:]+"."))
		}
	} else {
		word := a.Verdict()
		if a.Findings[0].Shape == why.NotStarted {
			word = "the server did not start"
		}
		fmt.Fprintf(w, "%s: %s\n", head, word)
	}
	for i, f := range a.Findings {
		printFinding(w, f, "The log proves")
		next := output.Plain(f.Next)
		if strings.Contains(next, "[redacted:") { // a shell takes the words as a comment
			next += "  # put the secret in"
		}
		fmt.Fprintf(w, "Next: %s\n", next)
		if i < len(a.see) && a.name != "-" {
			fmt.Fprintf(w, "See it: %s\n", a.see[i])
		}
	}
	for _, note := range a.Notes() {
		fmt.Fprintf(w, "Note: %s.\n", output.Plain(note))
	}
	return nil
}

// printFinding prints a finding as a paragraph, with what shows it and what it proves.
func printFinding(w io.Writer, f why.Finding, proves string) {
	fmt.Fprintf(w, "\n%s\n\n", output.Plain(f.Text))
	for _, e := range f.Evidence {
		at := "  open"
		if e.Seq > 0 {
			at = fmt.Sprintf("  #%d", e.Seq)
		}
		fmt.Fprintf(w, "%-7s %s\n", at, output.Plain(e.Text))
	}
	if len(f.Evidence) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s: %s.\n", proves, output.Plain(f.Proves))
	if f.Suggests != "" {
		fmt.Fprintf(w, "It suggests: %s.\n", output.Plain(f.Suggests))
	}
	if f.Unknown != "" {
		fmt.Fprintf(w, "It cannot tell: %s.\n", output.Plain(f.Unknown))
	}
}
