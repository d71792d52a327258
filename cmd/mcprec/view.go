package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/agent"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/view"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

type viewOptions struct {
	home
	filterFlag
	models   modelFlags
	capacity string
	listen   string
	token    string
	played   string // what the session on standard input is called, if it is a play of a token
	at       eventNumber
	open     bool
	dir      bool
	out      cli.File
}

func newView() *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use:   "view [SESSION [SESSION | EVENT]]",
		Short: "See a session in a browser, or write it as one file of HTML",
		Example: `  mcprec view
  mcprec view before.jsonl after.jsonl
  mcprec view -o session.html SESSION
  mcprec view --dir --open`,
		Args: func(cmd *cobra.Command, args []string) error {
			if external.IsToken(o.token) { // a COMMAND follows
				return nil
			}
			return atMost(2)(cmd, args)
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if external.IsToken(o.token) {
				if o.played, err = playToken(cmd, o.home, o.token, args); err != nil {
					return err
				}
				o.token, args = "", []string{"-"}
			}
			return runView(cmd, o, args)
		},
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	o.models.addFlags(cmd, "", " in the replay")
	f := cmd.Flags()
	f.StringVarP(&o.capacity, "buffer", "c", "", "its buffer: `N`, c2s=N,s2c=N, or unbounded")
	f.StringVar(&o.token, "token", "", "show the order of this `TOKEN`")
	f.Var(&o.at, "at", "open the page at this `EVENT`")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "listen at this `ADDRESS` of this machine")
	f.BoolVar(&o.open, "open", false, "open the page in the browser")
	f.BoolVar(&o.dir, "dir", false, "a list of the sessions of the store")
	addOutFlags(cmd, &o.out, "", "write the page to one `FILE`, and serve nothing")
	f.Lookup("force").Usage += ", or write a large session"
	completeWords(cmd, "buffer", "0", "1", "c2s=", "unbounded")
	return cmd
}

func runView(cmd *cobra.Command, o viewOptions, args []string) (err error) {
	hash, err := o.hash()
	if err != nil {
		return err
	}
	switch {
	case o.dir && (len(args) > 0 || o.out.Name != "" || hash != ""):
		return cli.Usagef("view --dir lists the sessions of the store; leave out what is about one of them")
	case o.expr != "" && o.out.Name == "":
		return cli.Usagef("view --filter leaves events out of the file of --out; the page has a filter of its own")
	case o.expr != "" && len(args) > 1:
		return cli.Usagef("view --filter is for one session; the file of two compares all of both")
	case o.out.Name != "":
		return exportView(cmd, o, args)
	}
	shown := view.Options{Token: o.token}
	if o.dir {
		db, err := openExisting(cmd, o.home)
		if err != nil {
			return err
		}
		defer closeInto(&err, db)
		shown.List = &viewList{cmd, o.home, db}
	} else {
		shown.Sessions, err = o.openShown(cmd, args)
		if err != nil {
			return err
		}
		if hash, err = o.hash(); err != nil { // with the event of the arguments
			return err
		}
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	server, err := view.Listen(ctx, o.listen, shown)
	if err != nil {
		return err
	}
	defer closeInto(&err, server)
	at := server.URL().String()
	if hash != "" {
		at += "#" + hash // which is escaped
	}
	wanted := cli.UntilSignal(cancel) // before the address, after which an interrupt may come
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), at); err != nil {
		return err
	}
	if output.IsTerminal(cmd.ErrOrStderr()) {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: the page is at the address above; ^C ends it")
	}
	if o.open {
		noBrowser := func(fault error) {
			fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no browser opened (%v); open the address above\n", fault)
		}
		end, fault := view.Browse(ctx, at, noBrowser)
		if fault != nil {
			noBrowser(fault)
		} else {
			defer func() { err = errors.Join(err, end()) }()
		}
	}
	err = server.Serve(ctx)
	_ = wanted()
	return err
}

// hash returns the part of the address that says where the page opens.
func (o viewOptions) hash() (string, error) {
	if _, err := o.models.parse(); err != nil {
		return "", err
	}
	if o.capacity != "" {
		if _, err := closed.ParseCapacity(o.capacity); err != nil {
			return "", wrongValue("buffer", o.capacity, err)
		}
	}
	if o.token != "" {
		if _, err := explore.ParseToken(o.token); err != nil {
			return "", wrongValue("token", o.token, err)
		}
	}
	values := url.Values{}
	if o.models.client != "" {
		values.Set("client", o.models.client)
	}
	if o.models.server != "" {
		values.Set("server", o.models.server)
	}
	if o.capacity != "" {
		values.Set("buffer", o.capacity)
	}
	if len(values) > 0 {
		values.Set("view", "replay")
	}
	if o.token != "" {
		values.Set("view", "beside")
	}
	if o.at > 0 {
		values.Set("at", o.at.String())
	}
	return values.Encode(), nil
}

// openShown opens one session and the event that the page opens at, or two sessions.
func (o *viewOptions) openShown(cmd *cobra.Command, args []string) ([]*session.Session, error) {
	if len(args) == 2 {
		if _, _, err := splitEvent(args); err != nil {
			return openAll(cmd, o.home, args)
		}
	}
	s, event, err := openAtEvent(cmd, o.home, args)
	if err != nil {
		return nil, err
	}
	s.Name = cmp.Or(o.played, s.Name)
	s.Watch(cmd.ErrOrStderr())
	if event > 0 {
		o.at = eventNumber(event)
	}
	return []*session.Session{s}, nil
}

// openAll opens the sessions that the arguments name; the newest without any.
func openAll(cmd *cobra.Command, h home, args []string) (sessions []*session.Session, err error) {
	if len(args) == 0 {
		args = []string{""}
	}
	if len(args) == 2 && args[0] == "-" && args[1] == "-" {
		return nil, cli.Usagef("only one of the sessions can be on standard input")
	}
	for _, arg := range args {
		s, err := openSession(cmd, h, arg)
		if err != nil {
			for _, opened := range sessions {
				err = errors.Join(err, opened.Close())
			}
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// exportView writes the page of a session as a file.
func exportView(cmd *cobra.Command, o viewOptions, args []string) error {
	fits, err := o.parse()
	if err == nil {
		err = o.out.Check()
	}
	if err != nil {
		return err
	}
	opened, err := openAll(cmd, o.home, args)
	if err != nil {
		return err
	}
	opened[0].Name = cmp.Or(o.played, opened[0].Name)
	pick := func(events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] { return events }
	if o.expr != "" {
		picked := exportOptions{filterFlag: o.filterFlag, fits: fits}
		if fits.Ahead() {
			picked.endings, err = opened[0].Endings(cmd.Context())
			if err != nil {
				return errors.Join(err, opened[0].Close())
			}
		}
		pick = func(events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] {
			return filterEvents(events, picked)
		}
	}
	file, err := view.Export(cmd.Context(), view.Exported{
		Sessions: opened, Select: pick, Large: o.out.Force,
		Client: o.models.client, Server: o.models.server, Capacity: o.capacity,
	})
	for _, s := range opened {
		err = errors.Join(err, s.Close())
	}
	if err == nil {
		err = o.out.Write(exactOut(cmd), func(w io.Writer) error { _, err := w.Write(file.HTML); return err })
	}
	if err != nil {
		return err
	}
	wrote := "wrote " + o.out.Name
	if o.out.Name == "-" {
		wrote = "wrote the page"
	}
	for i, s := range opened {
		wrote += fmt.Sprintf("; %s: %s", s.Name, o.secretsIn(file.Secrets[i]))
	}
	fmt.Fprintf(output.NewWriter(cmd.ErrOrStderr()), "mcprec: %s\n", output.Plain(wrote))
	return nil
}

// secretsIn says what became of the secrets of a session in the file of --out.
func (o viewOptions) secretsIn(n session.SecretCount) string {
	switch {
	case o.Secrets.Show:
		return "its secrets are in it as they are"
	case n.Secrets == 0:
		return "no secrets were found in it"
	}
	return fmt.Sprintf("%s in %s masked", phrase.Plural(n.Secrets, "secret"), phrase.Plural(n.Events, "event"))
}

// viewList is the store whose sessions the page lists.
type viewList struct {
	cmd *cobra.Command
	home
	db *session.Store
}

// Open implements [view.List].
func (l *viewList) Open(_ context.Context, id string) (*session.Session, error) {
	if _, err := store.ParseSessionID(id); err != nil { // no path, and no label
		return nil, err
	}
	return openSession(l.cmd, l.home, id)
}

// hungWord in a filter of the list selects the sessions in which something hung.
const hungWord = "hung"

// Sessions implements [view.List].
func (l *viewList) Sessions(ctx context.Context, expr string) (listed []view.Listed, err error) {
	words := strings.Fields(expr)
	rest := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == hungWord })
	onlyHung := len(rest) < len(words)
	if onlyHung {
		expr = strings.Join(rest, " ")
	}
	fits, err := (filterFlag{expr}).parse()
	if err != nil {
		return nil, err
	}
	sessions, err := (&span{}).sessions(l.cmd, l.db)
	short := shortIDs(sessions)
	if fits.String() != "" {
		fitting, fault := l.db.Fitting(ctx, sessions, fits)
		sessions = fitting
		err = errors.Join(err, fault)
	}
	l.db.Masker.Headers(sessions)
	sums, fault := l.db.Summaries(ctx, sessions)
	for _, s := range sessions {
		sum := sums[s.ID]
		if onlyHung && sum.Hung == 0 {
			continue
		}
		name := l.db.Masker.Text
		row := view.Listed{ID: s.ID, Label: labelOf(s), Title: labelOf(s),
			Server: name(sum.Server.String()), Client: name(sum.Client.String()), Start: s.Start, Took: s.Head.At,
			State: s.State, Exit: strings.TrimPrefix(s.Exit, "signal: "), Calls: sum.Requests, Errors: sum.Errors, Hung: sum.Hung}
		if row.Title == "" {
			row.Title = short[s.ID]
		}
		listed = append(listed, row)
	}
	return listed, errors.Join(err, fault)
}

func newMCP(std cli.Streams) *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:               "mcp",
		Short:             "Let an agent ask about the recordings: an MCP server on stdin and stdout",
		Example:           "  mcprec mcp\n  mcprec mcp --store /var/lib/mcprec --mask-key customer",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runMCP(cmd, std, h) },
	}
	h.addFlags(cmd)
	h.heedMaskRules(cmd)
	return cmd
}

func runMCP(cmd *cobra.Command, std cli.Streams, h home) (err error) {
	db, err := session.OpenReadOnly(cmd.Context(), h.Home)
	if err != nil {
		return err
	}
	server := agent.New(db, version())
	defer closeInto(&err, server)
	if output.IsTerminal(std.In) {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: mcp waits for an MCP client on standard input; see mcprec help mcp for how a client starts it")
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	err = server.RunStdio(ctx, std.In, std.Out)
	if wanted() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
