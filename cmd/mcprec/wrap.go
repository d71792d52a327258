package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/clientconfig"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// wrapOptions are the options of wrap and unwrap.
type wrapOptions struct {
	home
	undo    bool // unwrap
	client  string
	config  string
	user    bool
	project bool
	all     bool
	dry     bool
	format  string
}

func newWrap() *cobra.Command {
	cmd := newWrapping(false)
	cmd.Use = "wrap [SERVER]..."
	cmd.Short = "Record the servers of a client: edit its configuration"
	cmd.Example = "  mcprec wrap\n  mcprec wrap fs\n  mcprec wrap --all --client cursor --dry-run\n  mcprec wrap fs --config ./mcp.json"
	return cmd
}

func newUnwrap() *cobra.Command {
	cmd := newWrapping(true)
	cmd.Use = "unwrap [SERVER]..."
	cmd.Short = "Take mcprec record out of a client's configuration again"
	cmd.Example = "  mcprec unwrap\n  mcprec unwrap fs\n  mcprec unwrap --all"
	return cmd
}

// newWrapping returns the command without its help.
func newWrapping(undo bool) *cobra.Command {
	o := wrapOptions{undo: undo}
	cmd := &cobra.Command{
		RunE: func(cmd *cobra.Command, args []string) error { return runWrap(cmd, o, args) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeServers(o)
		},
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.client, "client", "", "only the servers of this `CLIENT`")
	f.StringVar(&o.config, "config", "", "the configuration `FILE`, of any client")
	f.BoolVar(&o.user, "user", false, "only your own configuration")
	f.BoolVar(&o.project, "project", false, "only the project in this folder")
	f.BoolVar(&o.all, "all", false, "every server found")
	f.BoolVar(&o.dry, "dry-run", false, "only say what would change")
	addFormat(cmd, &o.format, "text", "json")
	completeWords(cmd, "client", namesOf(clientconfig.Clients(), func(c clientconfig.Client) string { return c.Name })...)
	return cmd
}

func completeServers(o wrapOptions) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	locations, err := o.locations(nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, s := range o.only(clientconfig.Look(locations).Servers) {
		if o.undo == isRecorded(s) && s.State != clientconfig.Odd {
			names = append(names, cobra.CompletionWithDesc(s.Name, s.Client+", "+string(s.Scope)))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// isRecorded reports whether a recorder stands in front of a server.
func isRecorded(s clientconfig.Server) bool {
	return s.State == clientconfig.Wrapped || s.State == clientconfig.ByHand
}

func runWrap(cmd *cobra.Command, options wrapOptions, names []string) (err error) {
	switch {
	case options.all && len(names) > 0:
		return cli.Usagef("%s: --all and SERVER; give one of them", cmd.Name())
	case options.user && options.project:
		return cli.Usagef("%s: --user and --project; give one of them", cmd.Name())
	}
	w := &wrapping{wrapOptions: options, cmd: cmd, isKept: map[[2]string]func(*clientconfig.Server) bool{}}
	if err := w.open(); err != nil {
		return err
	}
	defer closeInto(&err, w)
	kept, err := w.kept.List()
	if err != nil {
		return err
	}
	locations, err := options.locations(kept)
	if err != nil {
		return err
	}
	found := clientconfig.Look(locations)
	servers := options.only(found.Servers)
	for _, fault := range found.Faults {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %v\n", fault)
	}
	if len(names) == 0 && !options.all {
		return errors.Join(w.list(servers, found.Unedited), faultOf(found))
	}
	chosen, err := w.choose(servers, names, found.Unedited)
	if err != nil {
		return err
	}
	if options.all {
		err = faultOf(found)
	}
	return errors.Join(w.edit(chosen), err)
}

// faultOf returns the exit code for files that could not be read, which were told.
func faultOf(found clientconfig.Survey) error {
	if len(found.Faults) == 0 {
		return nil
	}
	return &cli.Status{Code: cli.ExitData}
}

// locations returns where to look: where the clients have their servers, and, to undo it, where wrap
// has been, in any project.
func (o *wrapOptions) locations(kept []clientconfig.Original) ([]clientconfig.Location, error) {
	system, err := clientconfig.ThisSystem()
	if err != nil {
		return nil, err
	}
	if o.config != "" {
		file, err := filepath.Abs(o.config)
		if err == nil {
			_, err = os.Stat(file)
		}
		return system.LocationsIn(file, o.client), err
	}
	known := slices.ContainsFunc(clientconfig.Clients(), func(c clientconfig.Client) bool { return c.Name == o.client })
	for _, original := range kept {
		known = known || original.Client == o.client
	}
	if o.client != "" && !known {
		return nil, cli.Usagef("--client %s: want one of %s; --config names the file of any other", o.client,
			strings.Join(namesOf(clientconfig.Clients(), func(c clientconfig.Client) string { return c.Name }), ", "))
	}
	locations := system.Locations()
	for _, original := range kept {
		if o.undo && !o.project {
			locations = append(locations, original.Location)
		}
	}
	return slices.DeleteFunc(locations, func(at clientconfig.Location) bool { return o.client != "" && at.Client != o.client }), nil
}

// only returns the servers in the scope of the flags.
func (o *wrapOptions) only(servers []clientconfig.Server) []clientconfig.Server {
	return slices.DeleteFunc(slices.Clone(servers), func(s clientconfig.Server) bool {
		isUser := s.Scope == clientconfig.User
		return o.user && !isUser || o.project && isUser
	})
}

// wrapping is one run of wrap or unwrap.
type wrapping struct {
	wrapOptions
	cmd    *cobra.Command
	db     *session.Store
	masker session.Masker
	kept   clientconfig.Originals
	isKept map[[2]string]func(*clientconfig.Server) bool // by the folder of originals, and the file
}

// open opens the store, where originals are kept, and which is tidied at the end.
func (w *wrapping) open() (err error) {
	w.db, err = openStore(w.cmd, w.home)
	if err != nil {
		return err
	}
	w.masker = w.db.Masker
	w.kept.Folder = w.db.Folder
	return nil
}

// Close closes the store, if it was opened.
func (w *wrapping) Close() error {
	if w.db == nil {
		return nil
	}
	return w.db.Close()
}

// masked returns a command line for people, without its secrets.
func (w *wrapping) masked(command []string) []string {
	return w.masker.Header(store.Header{Command: command}).Command
}

// place returns where a server stands, for people.
func (w *wrapping) place(s clientconfig.Server) string {
	return fmt.Sprintf("%s %s %s", s.Client, s.Scope, output.PlainName(w.masker.Text(s.Name)))
}

// wrapLine is the stable form of a server in a client's configuration.
type wrapLine struct {
	Client  string             `json:"client"`
	Scope   clientconfig.Scope `json:"scope"`
	Server  string             `json:"server"`
	State   clientconfig.State `json:"state"`
	File    string             `json:"file"`
	Command []string           `json:"command,omitempty"`
	URL     string             `json:"url,omitempty"`
	Problem string             `json:"problem,omitempty"`
}

func (w *wrapping) line(s clientconfig.Server) wrapLine {
	line := wrapLine{s.Client, s.Scope, w.masker.Text(s.Name), s.State, s.File, nil, "", s.Problem}
	command := s.Command
	if s.State == clientconfig.Wrapped {
		command = s.Recorded()
	}
	if command != nil {
		line.Command = w.masked(command)
	}
	if s.URL != "" {
		line.URL = w.masker.Header(store.Header{URL: s.URL}).URL
	}
	return line
}

// list prints the servers: of unwrap only those that are recorded.
func (w *wrapping) list(servers []clientconfig.Server, unedited []clientconfig.Location) error {
	if w.undo {
		servers = slices.DeleteFunc(servers, func(s clientconfig.Server) bool { return !isRecorded(s) })
	}
	screen, err := screenOf(w.cmd)
	if err != nil {
		return err
	}
	encoder := output.NewEncoder(screen)
	t := table{head: []string{"CLIENT", "SCOPE", "SERVER", "STATE", "FILE", "COMMAND"}, left: true}
	for _, s := range servers {
		line := w.line(s)
		if w.format == output.JSON {
			err = errors.Join(err, encoder.Encode(line))
			continue
		}
		t.rows = append(t.rows, tableRow{bad: s.State == clientconfig.Odd, cells: []string{
			line.Client, string(line.Scope), output.PlainName(line.Server), string(line.State), output.Plain(shortPath(line.File)),
			output.Plain(cmp.Or(line.Problem, line.URL, phrase.ShellLine(line.Command...))),
		}})
	}
	screen.Fit(output.Clip)
	t.print(screen)
	if err = errors.Join(err, screen.Flush()); err != nil {
		return err
	}
	w.remark(servers, unedited)
	return nil
}

// shortPath returns a path with ~ for the home folder.
func shortPath(path string) string {
	user, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	if rest, ok := strings.CutPrefix(path, user+string(filepath.Separator)); ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// remark says on stderr what a list leaves open.
func (w *wrapping) remark(servers []clientconfig.Server, unedited []clientconfig.Location) {
	errs := w.cmd.ErrOrStderr()
	for _, s := range servers {
		if s.State != clientconfig.Wrapped {
			continue
		}
		if _, err := os.Stat(s.Command[0]); err != nil {
			fmt.Fprintf(errs, "mcprec: %s starts %s, which is not there: unwrap it, and wrap it again\n", w.place(s), s.Command[0])
		}
	}
	for _, at := range unedited {
		if w.undo {
			break
		}
		fmt.Fprintf(errs, "mcprec: %s\n", byHandAdvice(at))
	}
	switch {
	case len(servers) > 0 || w.format == output.JSON:
	case w.undo:
		fmt.Fprintln(errs, "mcprec: no server is wrapped")
	default:
		fmt.Fprintln(errs, "mcprec: no MCP client that mcprec knows has a server here; --config FILE names another configuration")
	}
}

// byHandAdvice says what to write into a file that is not edited.
func byHandAdvice(at clientconfig.Location) string {
	return fmt.Sprintf("%s: %s is YAML, which is not edited; write there mcprec's full path as the command, and before the old command as arguments: record -l client=%s -l server=NAME",
		at.Client, shortPath(at.File), at.Client)
}

// choose returns the servers that are named, or with --all those that can be edited. Each name must
// be that of one server. A name that none has may stand in a file that is not edited.
func (w *wrapping) choose(servers []clientconfig.Server, names []string, unedited []clientconfig.Location) (chosen []clientconfig.Server, err error) {
	if w.all {
		return w.chooseAll(servers), nil
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		candidates := slices.DeleteFunc(slices.Clone(servers), func(s clientconfig.Server) bool {
			return s.Name != name || w.undo && !isRecorded(s)
		})
		switch {
		case len(candidates) == 0 && w.undo:
			return nil, cli.Usagef("no server %q is wrapped; mcprec unwrap lists those that are", name)
		case len(candidates) == 0:
			var advice strings.Builder
			for _, at := range unedited {
				advice.WriteString("\n  " + byHandAdvice(at))
			}
			return nil, cli.Usagef("no client has a server %q; mcprec wrap lists them%s", name, &advice)
		case len(candidates) > 1:
			var places strings.Builder
			for _, s := range candidates {
				fmt.Fprintf(&places, "\n  %s, %s: %s", s.Client, s.Scope, s.File)
			}
			return nil, cli.Usagef("there are %d servers %q; pick one with --client, --user, --project or --config:%s", len(candidates), name, &places)
		}
		s := candidates[0]
		switch {
		case s.State == clientconfig.Odd:
			return nil, cli.Usagef("server %q in %s: %s", s.Name, s.File, s.Problem)
		case s.State == clientconfig.Remote:
			return nil, cli.Usagef("server %q in %s is remote; %s", s.Name, s.File, w.remoteAdvice(s))
		case !w.undo && isRecorded(s):
			fmt.Fprintf(w.cmd.ErrOrStderr(), "mcprec: %s is recorded already\n", w.place(s))
		default:
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// chooseAll returns all servers that can be edited, and says which of the others cannot.
func (w *wrapping) chooseAll(servers []clientconfig.Server) (chosen []clientconfig.Server) {
	errs := w.cmd.ErrOrStderr()
	for _, s := range servers {
		switch {
		case s.IsOwn():
			fmt.Fprintf(errs, "mcprec: %s is mcprec's own server, and is left alone\n", w.place(s))
		case w.undo && s.State == clientconfig.Wrapped, !w.undo && s.State == clientconfig.Direct:
			chosen = append(chosen, s)
		case w.undo:
		case s.State == clientconfig.Odd:
			fmt.Fprintf(errs, "mcprec: %s is left alone: %s\n", w.place(s), s.Problem)
		case s.State == clientconfig.Remote:
			fmt.Fprintf(errs, "mcprec: %s is remote; %s\n", w.place(s), w.remoteAdvice(s))
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintf(errs, "mcprec: nothing to %s\n", w.cmd.Name())
	}
	return chosen
}

func (w *wrapping) remoteAdvice(s clientconfig.Server) string {
	target := cmp.Or(w.line(s).URL, "URL")
	return fmt.Sprintf("run this, and put the URL that it prints into the configuration:\n  mcprec record --target %s -l client=%s -l %s",
		phrase.ShellWord(target), s.Client, phrase.ShellWord("server="+s.Name))
}

// edit edits the files of some servers, and says what it did.
func (w *wrapping) edit(servers []clientconfig.Server) (err error) {
	if len(servers) == 0 {
		return nil
	}
	front, err := w.front()
	if err != nil {
		return err
	}
	type change struct {
		file string
		kept clientconfig.Originals
	}
	grouped := map[change][]clientconfig.Server{}
	var changes []change // in their order
	for _, s := range servers {
		c := change{s.File, w.keptOf(&s)}
		if grouped[c] == nil {
			changes = append(changes, c)
		}
		grouped[c] = append(grouped[c], s)
	}
	var done []clientconfig.Server
	var faults error
	for _, c := range changes {
		edit := clientconfig.WrapAll(grouped[c], front)
		var remarks []string
		if w.undo {
			edit = clientconfig.UnwrapAll(grouped[c], func(s *clientconfig.Server, how clientconfig.Unwrapping) {
				switch how {
				case clientconfig.Unknown:
					remarks = append(remarks, fmt.Sprintf("nothing is kept of %s: what mcprec record needs was taken out, and the rest stays as it was", w.place(*s)))
				case clientconfig.Replaced:
					remarks = append(remarks, fmt.Sprintf("the command of %s was changed since it was wrapped, and stays as it is", w.place(*s)))
				}
			})
		}
		names := cli.NamesOf(c.file)
		if err := c.kept.Change(c.file, w.orTry(edit)); err != nil {
			faults = errors.Join(faults, fmt.Errorf("%s: %w", w.cmd.Name(), err))
			continue
		}
		if names > 1 {
			remarks = append(remarks, fmt.Sprintf("%s has %d names (hard links): under the others the old file stays", output.Plain(c.file), names))
		}
		for _, remark := range remarks {
			fmt.Fprintf(w.cmd.ErrOrStderr(), "mcprec: %s\n", remark)
		}
		done = append(done, grouped[c]...)
		faults = errors.Join(faults, w.print(grouped[c], front))
	}
	w.advise(done)
	return faults
}

// keptOf returns where the original of a server is kept. It may have been wrapped with another store,
// by --store or MCPREC_HOME: the one that its entry names, or the usual one.
func (w *wrapping) keptOf(s *clientconfig.Server) clientconfig.Originals {
	for _, folder := range []string{s.Store(), session.UsualFolder()} {
		kept := clientconfig.Originals{Folder: folder}
		if w.undo && folder != "" && !w.has(w.kept, s) && w.has(kept, s) {
			return kept
		}
	}
	return w.kept
}

// has reports whether the original of a server is kept in a folder, of which each file is read once.
func (w *wrapping) has(kept clientconfig.Originals, s *clientconfig.Server) bool {
	of := [2]string{kept.Folder, s.File}
	if w.isKept[of] == nil {
		w.isKept[of] = kept.Has(s.File)
	}
	return w.isKept[of](s)
}

// orTry returns an edit that with --dry-run is tried, and changes nothing.
func (w *wrapping) orTry(edit clientconfig.Edit) clientconfig.Edit {
	if !w.dry {
		return edit
	}
	return func(doc []byte, kept []clientconfig.Original) ([]byte, []clientconfig.Original, error) {
		_, _, err := edit(doc, kept)
		return doc, kept, err
	}
}

// front returns the function for the words before a server's command.
func (w *wrapping) front() (func(*clientconfig.Server) []string, error) {
	program, err := cli.InstalledPath()
	if err != nil {
		return nil, err
	}
	place := ""
	if w.Place != "" || os.Getenv("MCPREC_HOME") != "" || filepath.IsAbs(os.Getenv("XDG_STATE_HOME")) {
		if place, err = w.Absolute(); err != nil {
			return nil, err
		}
	}
	if temporary := os.TempDir(); place != "" && !w.undo && !w.dry && (place == temporary || strings.HasPrefix(place, temporary+string(filepath.Separator))) {
		fmt.Fprintf(w.cmd.ErrOrStderr(), "mcprec: the sessions of these servers will go to %s, a temporary folder: unset MCPREC_HOME, or name another --store, and wrap again\n", place)
	}
	return func(s *clientconfig.Server) []string {
		words := []string{program, "record"}
		if place != "" && !s.OwnHome {
			words = append(words, "--store", place)
		}
		words = append(words, "-l", "client="+s.Client, "-l", "server="+s.Name)
		if strings.HasPrefix(s.Command[0], "-") {
			words = append(words, "--") // MCP Inspector takes it for its own, so others have none
		}
		return words
	}, nil
}

// print prints the servers that were edited, with --dry-run also their command lines, masked.
func (w *wrapping) print(servers []clientconfig.Server, front func(*clientconfig.Server) []string) error {
	screen, err := screenOf(w.cmd)
	if err != nil {
		return err
	}
	does := w.cmd.Name() + "ped"
	if w.dry {
		does = "would " + w.cmd.Name()
	}
	for _, s := range servers {
		line := w.line(s)
		fmt.Fprintf(screen, "%s %s, %s: %s in %s\n", does, line.Client, line.Scope, output.PlainName(line.Server), output.Plain(line.File))
		if w.dry {
			now := s.Recorded()
			if !w.undo {
				now = slices.Concat(front(&s), s.Command)
			}
			screen.Paint(output.Red, "  - "+phrase.ShellLine(w.masked(s.Command)...)+"\n")
			screen.Paint(output.Green, "  + "+phrase.ShellLine(w.masked(now)...)+"\n")
		}
	}
	return screen.Flush()
}

// advise says what to do next.
func (w *wrapping) advise(done []clientconfig.Server) {
	errs := w.cmd.ErrOrStderr()
	if w.dry || len(done) == 0 {
		return
	}
	titles := map[string]string{}
	for _, c := range clientconfig.Clients() {
		titles[c.Name] = c.Title
	}
	var clients []string
	for _, s := range done {
		if title := cmp.Or(titles[s.Client], "the client"); !slices.Contains(clients, title) {
			clients = append(clients, title)
		}
	}
	fmt.Fprintf(errs, "mcprec: restart %s, which may ask you again to trust the server", strings.Join(clients, ", "))
	if !w.undo {
		fmt.Fprintf(errs, "; when it hangs, ask mcprec why; mcprec unwrap undoes this")
	}
	fmt.Fprintln(errs)
	if w.undo {
		return
	}
	warn(errs, done)
}

// warn says of each edited file what its owner should know.
func warn(errs io.Writer, done []clientconfig.Server) {
	told := map[string]bool{}
	for _, s := range done {
		if told[s.File] {
			continue
		}
		told[s.File] = true
		if s.Scope == clientconfig.Project {
			fmt.Fprintf(errs, "mcprec: %s is a file of the project: unwrap before you commit it\n", s.File)
		}
		if s.ByRules {
			fmt.Fprintf(errs, "mcprec: %s has rules about commands (amp.mcpPermissions): the command of these servers is mcprec now\n", s.File)
		}
	}
}
