package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/parallel"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/recorder/procstate"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

type whyOptions struct {
	home
	labels labels
	format string
	all    bool
	watch  bool
	after  time.Duration
}

func newWhy() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why [SESSION]",
		Short: "Say who is stuck, since when, and on what, also while it hangs",
		Long: `why says what a session waits for: who waits for whom, for what, since when, what that
side did last, whether it asks something itself, whether it takes what is sent, whether
a process has exited. Without SESSION it tells of each live session in which something
has been open for longer than --after, or else of the newest session. It also tells how
a session stood when it ended, however it was put to an end.

For each hang it prints a paragraph, the events that show it (as mcprec show numbers
them), what the log proves, what it suggests and what it cannot tell, and a command to
go on with. A call with progress that still comes, a person who is being asked, a quiet
subscription and a client with nothing to say are not stuck.

--format json prints one object a line: session, label, state, now_ns, ended, last, open
(what is open and not stuck), recent (requests that are open for less than --after, if
nothing is stuck), findings: shape, culprit (client, server or both),
waited_ns, calls, text, evidence (seq, text), proves, suggests, unknown, next.

It exits with 1 if something is stuck.

` + sessionHelp,
		Example: `  mcprec why
  mcprec why --all --after 30s
  mcprec why --watch --label nightly`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runWhy(cmd, o, firstOf(args)) },
	}
	o.home.addMaskFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	f.BoolVar(&o.all, "all", false, "tell of every live session, stuck or not")
	f.VarP(&o.labels, "label", "l", "only sessions with the `LABEL`, or with NAME=VALUE")
	f.BoolVar(&o.watch, "watch", false, "go on, and print again when the answer changes; wait for a session that is not there yet")
	f.DurationVar(&o.after, "after", stuckAfter, "what has lasted as `LONG` is stuck")
	return cmd
}

// stuckAfter is how long what is open must have lasted to be stuck.
const stuckAfter = 5 * time.Second

// watchPause is how long why --watch waits before it looks again.
const watchPause = 500 * time.Millisecond

func runWhy(cmd *cobra.Command, o whyOptions, arg string) error {
	if o.after < 0 {
		return exit.Usagef("--after %v: want 0 or more", o.after)
	}
	told := ""
	for isWaiting := false; ; {
		answers, err := o.ask(cmd, arg)
		var none *session.NotFoundError
		if o.watch && errors.As(err, &none) {
			if !isWaiting {
				isWaiting = true
				fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s; waiting for one\n", terminal.Plain(err.Error()))
			}
			err = nil
		}
		if err != nil {
			return err
		}
		key := ""
		stuck := false
		live := false
		for _, a := range answers {
			key += a.key()
			stuck = stuck || a.Stuck()
			live = live || a.State == store.Live
		}
		if key != told {
			told = key
			if err := o.print(cmd, answers); err != nil {
				return err
			}
		}
		switch {
		case o.watch && (live || arg == "" || none != nil):
		case stuck:
			return exit.ErrVerdict
		default:
			return nil
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(watchPause):
		}
	}
}

// answer is what why says of a session, in the stable form of why --format json.
type answer struct {
	Session store.SessionID `json:"session,omitempty"`
	Label   string          `json:"label,omitempty"`
	State   store.State     `json:"state,omitempty"`
	why.Report

	name string
	see  []string // for each finding the command that shows it
}

// key tells the answers of a session apart but for durations.
func (a answer) key() string {
	key := a.name + string(a.State) + a.Ended
	for _, f := range a.Findings {
		key += fmt.Sprint(f.Shape, f.Calls)
	}
	return key + strings.Join(a.Open, "")
}

// ask returns the answers about the sessions that the arguments name.
func (o whyOptions) ask(cmd *cobra.Command, arg string) (answers []answer, err error) {
	if arg != "" {
		s, err := openSession(cmd, o.home, arg)
		if err != nil {
			return nil, err
		}
		a, err := explain(cmd.Context(), s, o.after)
		return []answer{a}, errors.Join(err, s.Close())
	}
	db, err := openStore(cmd, o.home)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, db)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // what is read is garbage at once
	var newest *store.Session
	for found, ferr := range db.Sessions(cmd.Context(), store.Query{Newest: true}) {
		if ferr != nil {
			err = errors.Join(err, ferr)
			continue
		}
		if !o.labels.of(found.Header) {
			continue
		}
		if newest == nil {
			newest = &found
		}
		if found.State != store.Live {
			continue
		}
		a, aerr := explain(cmd.Context(), db.Session(found), o.after)
		err = errors.Join(err, aerr)
		if aerr == nil && (o.all || a.Stuck()) {
			answers = append(answers, a)
		}
	}
	if len(answers) > 0 || err != nil {
		return answers, err
	}
	if newest == nil {
		return nil, exit.Usagef("%w", &session.NotFoundError{Location: db.Info().Location, Name: o.labels.String()})
	}
	a, err := explain(cmd.Context(), db.Session(*newest), o.after)
	return []answer{a}, err
}

// explain reads a session and says what is stuck in it. Only what is printed is masked: to mask
// each event takes longer than the rest.
func explain(ctx context.Context, s *session.Session, after time.Duration) (answer, error) {
	a := answer{Session: s.ID, name: s.Name}
	type parsed struct {
		messages []transport.Message
		isJSON   bool
	}
	events := parallel.Map(s.Recorded(ctx, 1, store.ReadOptions{}), func(e *store.Event, p *parsed) {
		if e.Kind == store.Frame {
			messages, err := e.AsFrame().AppendMessages(p.messages[:0])
			p.messages = messages
			p.isJSON = err == nil
		}
	})
	var fold why.Fold
	var header store.Header
	for e, err := range events {
		if err == nil {
			err = fold.ApplyParsed(e.Event, e.Made.messages, e.Made.isJSON)
		}
		if err != nil {
			return a, fmt.Errorf("explain %s: %w", s.Name, err)
		}
		if e.Kind == store.Opened {
			header, _ = store.ParseHeader(e.Payload) // the fold reports a fault
		}
	}
	live, err := liveOf(ctx, s, header)
	if err != nil {
		return a, fmt.Errorf("explain %s: %w", s.Name, err)
	}
	return answerOf(s, header, fold.Report(live, after), live.Now > 0), nil
}

// answerOf masks a report about a session, and fills in the arguments of its commands.
func answerOf(s *session.Session, header store.Header, told why.Report, isLive bool) answer {
	a := answer{Session: s.ID, name: s.Name, Report: told}
	if isLive {
		a.State = store.Live
	}
	mask := s.Masker.Of(header)
	header = mask.Header(header)
	a.Label = (&labels{header.Label, header.Labels}).String()
	command, url := "COMMAND", "URL"
	if len(header.Command) > 0 {
		command = terminal.ShellLine(header.Command)
	}
	name := cmp.Or(string(s.ID), terminal.ShellWord(s.Name))
	fill := strings.NewReplacer("SESSION", name, "COMMAND", command, "URL", cmp.Or(header.URL, url))
	a.Last = mask.Text(a.Last)
	for i := range a.Recent {
		a.Recent[i] = mask.Text(a.Recent[i])
	}
	for i := range a.Open {
		a.Open[i] = mask.Text(a.Open[i])
	}
	for i := range a.Findings {
		f := &a.Findings[i]
		f.Text, f.Next = mask.Text(f.Text), "mcprec "+fill.Replace(f.Next)
		see := "mcprec view " + name
		for _, e := range f.Evidence {
			if e.Seq > 0 {
				see += fmt.Sprintf(" --at %d", e.Seq)
				break
			}
		}
		a.see = append(a.see, see)
		for k := range f.Evidence {
			f.Evidence[k].Text = mask.Text(f.Evidence[k].Text)
		}
	}
	return a
}

// liveNow is liveOf with the header of the log.
func liveNow(ctx context.Context, s *session.Session) (live why.Live, err error) {
	if s.Now() == 0 {
		return live, nil
	}
	for e, err := range s.Recorded(ctx, 1, store.ReadOptions{}) {
		if err != nil {
			return live, err
		}
		header, err := store.ParseHeader(e.Payload)
		if err != nil {
			return live, err
		}
		return liveOf(ctx, s, header)
	}
	return live, nil
}

// liveOf returns what is known of a session that goes on beside its log.
func liveOf(ctx context.Context, s *session.Session, header store.Header) (live why.Live, err error) {
	live = why.Live{Now: s.Now(), Mask: s.Masker.Of(header).Text}
	if live.Now == 0 {
		return live, nil
	}
	if header.Processes != nil {
		live.Server = standOf(serverOf(procstate.Of(header.Processes.Server)))
		live.Client = standOf(procstate.Of(header.Processes.Client))
	}
	live.Lines, err = s.Store.OpenLines(ctx, s.ID)
	return live, err
}

// stuckIn says for people what was stuck in a session.
func stuckIn(ctx context.Context, s *session.Session) (said []string) {
	a, err := explain(ctx, s, stuckAfter)
	if err != nil { // it was said before, or the next reader says it
		return nil
	}
	for _, f := range a.Findings {
		said = append(said, fmt.Sprintf("%s See mcprec why %s", terminal.Plain(f.Text), s.ID))
	}
	return said
}

// recordedHang is what was stuck in a recorded session itself. It comes before a verdict of models.
type recordedHang struct {
	Hung []hungFinding `json:"hung"`

	session string // as an argument of mcprec why
}

// hungFinding is what a verdict of models tells of a [why.Finding].
type hungFinding struct {
	Shape   string `json:"shape"`
	Culprit string `json:"culprit"`
	Text    string `json:"text"`
}

// hungIn returns what was stuck in a session, whose events the fold has. arg is its name on the
// command line.
func hungIn(ctx context.Context, s *session.Session, arg string, fold *why.Fold) (recordedHang, error) {
	h := recordedHang{Hung: []hungFinding{}, session: cmp.Or(string(s.ID), terminal.ShellWord(arg))}
	live, err := liveNow(ctx, s)
	if err != nil {
		return h, err
	}
	for _, f := range fold.Report(live, stuckAfter).Findings {
		h.Hung = append(h.Hung, hungFinding{f.Shape, f.Culprit, f.Text})
	}
	return h, nil
}

// line returns a line about the oldest finding, and one that counts the others. Without findings
// it is "".
func (h recordedHang) line() string {
	if len(h.Hung) == 0 {
		return ""
	}
	text := terminal.Plain(fmt.Sprintf("HUNG: the recorded session hung: %s; mcprec why %s tells more", strings.TrimSuffix(h.Hung[0].Text, "."), h.session)) + "\n"
	if others := len(h.Hung) - 1; others > 0 {
		text += fmt.Sprintf("  It has %s.\n", phrase.Plural(others, "other hang"))
	}
	return text
}

// serverOf returns the process that reads the input of a server: a launcher, such as npx, has it
// as a child.
func serverOf(p procstate.Process) procstate.Process {
	for _, child := range p.Children {
		if child.Files[0] == p.Files[0] && child.Files[0] != "" {
			return serverOf(child)
		}
	}
	return p
}

// standOf returns how a process stands.
func standOf(p procstate.Process) why.Process {
	if p.State == procstate.Unknown {
		return why.Process{}
	}
	known := why.Process{Name: p.Name, PID: p.PID, State: string(p.State)}
	if len(p.Calls) == 0 || p.State != procstate.Sleeping {
		return known
	}
	call := p.Calls[0]
	file := map[int]string{-1: "something", 0: "its input", 1: "its output", 2: "standard error"}[call.FD]
	if kind, _, _ := strings.Cut(call.File, ":"); file == "" && kind != call.File {
		file = "a " + kind // a pipe or a socket
	}
	known.Doing = map[string]string{
		"read": "in a read of " + cmp.Or(file, "a file"), "write": "in a write to " + cmp.Or(file, "a file"), "poll": "waiting for input or a timer",
		"futex": "waiting for another thread or a lock", "wait": "waiting for a child", "sleep": "waiting for a timer",
		"accept": "waiting for a connection", "connect": "waiting for a connection that it makes",
	}[call.Name]
	return known
}

// print prints the answers.
func (o whyOptions) print(cmd *cobra.Command, answers []answer) error {
	w, err := screenOf(cmd)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if o.format == report.JSON {
			err = errors.Join(err, report.NewEncoder(w).Encode(a))
			continue
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		err = errors.Join(err, a.text(w, o.after))
	}
	return errors.Join(err, w.Flush())
}

// verdict returns the word for a session with findings: "may be stuck" where an idle client
// would look the same.
func (a answer) verdict() string {
	for _, f := range a.Findings {
		if f.Shape != why.ClientSilent || f.Unknown == "" {
			return "stuck"
		}
	}
	return "may be stuck"
}

// text prints an answer as a paragraph, its evidence and the next command.
func (a answer) text(w io.Writer, after time.Duration) error {
	head := terminal.Plain(a.name)
	if a.Label != "" {
		head += " (" + terminal.PlainName(a.Label) + ")"
	}
	if a.State == store.Live {
		head += ", live"
	}
	if !a.Stuck() {
		word := "nothing is stuck"
		if strings.Contains(strings.Join(a.Open, ""), why.BrokeOff) {
			word = "nothing is known to be stuck"
		}
		if n := len(a.Recent); n > 0 {
			word += ": " + strings.Join(a.Recent, ", ") + fmt.Sprintf("; why calls %s stuck after %v", phrase.Agree(n, "it", "them"), phrase.Brief(after))
		}
		fmt.Fprintf(w, "%s: %s\n", head, terminal.Plain(word))
		if a.Last != "" {
			fmt.Fprintf(w, "%s\n", terminal.Plain(strings.ToUpper(a.Last[:1])+a.Last[1:]+"."))
		}
	} else {
		fmt.Fprintf(w, "%s: %s\n", head, a.verdict())
	}
	for i, f := range a.Findings {
		fmt.Fprintf(w, "\n%s\n\n", terminal.Plain(f.Text))
		for _, e := range f.Evidence {
			at := "  open"
			if e.Seq > 0 {
				at = fmt.Sprintf("  #%d", e.Seq)
			}
			fmt.Fprintf(w, "%-7s %s\n", at, terminal.Plain(e.Text))
		}
		fmt.Fprintf(w, "\nThe log proves: %s.\n", terminal.Plain(f.Proves))
		if f.Suggests != "" {
			fmt.Fprintf(w, "It suggests: %s.\n", terminal.Plain(f.Suggests))
		}
		if f.Unknown != "" {
			fmt.Fprintf(w, "It cannot tell: %s.\n", terminal.Plain(f.Unknown))
		}
		fmt.Fprintf(w, "Next: %s\n", terminal.Plain(f.Next))
		if i < len(a.see) && a.name != "-" {
			fmt.Fprintf(w, "See it: %s\n", a.see[i])
		}
	}
	for _, open := range a.Open {
		fmt.Fprintf(w, "Note: %s.\n", terminal.Plain(open))
	}
	return nil
}
