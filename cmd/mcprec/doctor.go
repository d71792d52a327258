package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/clientconfig"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/view"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

func newDoctor() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:               "doctor",
		Short:             "Say what mcprec finds on this machine, and what is wrong with it",
		Example:           "  mcprec doctor",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd, h) },
	}
	h.addFlags(cmd)
	h.heedMaskRules(cmd)
	return cmd
}

// checkup prints what it finds, a topic a line, and below it what is wrong.
type checkup struct {
	cmd      *cobra.Command
	home     home
	screen   *output.Screen
	problems int
}

func runDoctor(cmd *cobra.Command, home home) error {
	defer cli.LimitMemory()()
	screen, err := screenOf(cmd)
	if err != nil {
		return err
	}
	c := &checkup{cmd: cmd, home: home, screen: screen}
	err = errors.Join(c.program(), c.store(), c.clients())
	c.browser()
	if err = errors.Join(err, screen.Flush()); err != nil {
		return err
	}
	if c.problems > 0 {
		return cli.ErrVerdict
	}
	return nil
}

func (c *checkup) say(topic, format string, args ...any) {
	c.screen.Paint(output.Unpainted, fmt.Sprintf("%-8s  %s\n", topic, output.Plain(fmt.Sprintf(format, args...))))
}

func (c *checkup) wrong(format string, args ...any) {
	c.problems++
	c.screen.Paint(output.Red, fmt.Sprintf("          ! %s\n", output.Plain(fmt.Sprintf(format, args...))))
}

// program says which mcprec this is, and whether the one that a shell finds is another.
func (c *checkup) program() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	found, err := exec.LookPath("mcprec")
	if err != nil {
		c.say("mcprec", "%s, %s, which is not in the PATH", version(), own)
		return nil
	}
	c.say("mcprec", "%s, %s", version(), own)
	if !isSameFile(found, own) {
		c.wrong("the mcprec in the PATH is another one: %s", found)
	}
	return nil
}

func isSameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, fault := os.Stat(b)
	return err == nil && fault == nil && os.SameFile(one, other)
}

// store says where sessions are kept, whether that can be read, and what is recorded now.
func (c *checkup) store() (err error) {
	db, err := session.OpenUnmasked(c.cmd.Context(), c.home.Home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	if db.Missing() {
		c.say("store", "%s: not there yet; the first recording makes it", db.Info().Location)
		if c.home.Place != "" {
			c.wrong("there is no store at --store")
		}
		return nil
	}
	masker, err := c.home.Masker(nil)
	if err != nil {
		return err
	}
	var faults []error
	if err := db.Verify(c.cmd.Context(), func(fault error) { faults = append(faults, fault) }); err != nil {
		faults = append(faults, err)
	}
	count := 0
	var live []store.Session
	for s, err := range db.Sessions(c.cmd.Context(), store.Query{Newest: true}) {
		if err != nil {
			continue // Verify has found it
		}
		count++
		if s.State == store.Live {
			live = append(live, s)
		}
	}
	space, err := db.Space(c.cmd.Context())
	if err != nil {
		faults = append(faults, err)
	}
	c.say("store", "%s: %s, %s", db.Info().Location, phrase.Plural(count, "session"), output.Size(space.Files))
	for _, fault := range faults {
		c.wrong("%v", masker.Text(fault.Error()))
	}
	if slices.ContainsFunc(faults, func(fault error) bool { return !errors.Is(fault, store.ErrNewer) }) {
		c.wrong("mcprec store verify reads all of it, mcprec store repair saves what is left")
	}
	c.say("live", "%s now", phrase.Plural(len(live), "recording"))
	for _, s := range live {
		s.Header = masker.Of(s.Header).Header(s.Header)
		c.say("", "%s, since %s: %s", s.ID, s.Start.Local().Format(time.DateTime), strings.TrimSpace(labelOf(s)+" "+commandOf(s)))
	}
	return nil
}

// clients says in which clients servers are recorded, and what is wrong with their entries.
func (c *checkup) clients() error {
	locations, err := (&wrapOptions{}).locations(nil)
	if err != nil {
		return err
	}
	place, err := c.home.Absolute()
	if err != nil {
		return err
	}
	masker, err := c.home.Masker(nil)
	if err != nil {
		return err
	}
	found := clientconfig.Look(locations)
	names := map[string][2]int{} // servers that are recorded, and all, by client
	var clients []string
	for _, s := range found.Servers {
		n, ok := names[s.Client]
		if !ok {
			clients = append(clients, s.Client)
		}
		if n[1]++; isRecorded(s) {
			n[0]++
		}
		names[s.Client] = n
	}
	c.say("clients", "%s with MCP servers; mcprec wrap lists the servers", phrase.Plural(len(clients), "client"))
	for _, client := range clients {
		c.say("", "%s: %d of %s recorded", client, names[client][0], phrase.Plural(names[client][1], "server"))
	}
	for _, fault := range found.Faults {
		c.wrong("%v", fault)
	}
	for _, s := range found.Servers {
		if s.State != clientconfig.Wrapped {
			continue
		}
		name := fmt.Sprintf("%s in %s", masker.Text(s.Name), shortPath(s.File))
		if _, err := os.Stat(s.Command[0]); err != nil {
			c.wrong("%s starts %s, which is not there: mcprec unwrap it, and wrap it again", name, s.Command[0])
		}
		if command := s.Recorded(); len(command) > 0 {
			c.serverProgram(name, command[0], s.Path)
		}
		if other := s.Store(); other != "" && filepath.Clean(other) != place && !isSameFile(other, place) {
			c.wrong("%s records into another store, %s", name, other)
		}
	}
	return nil
}

// serverProgram says whether the program of a server is not there. A client may find it in another PATH than a
// shell does, and a file with a relative name from another folder.
func (c *checkup) serverProgram(name, program, path string) {
	switch {
	case strings.Contains(program, "$"), strings.HasPrefix(program, "~"): // the client fills it in
	case strings.ContainsAny(program, `/\`):
		if _, err := os.Stat(program); filepath.IsAbs(program) && errors.Is(err, fs.ErrNotExist) {
			c.wrong("%s: its command %s is not there", name, program)
		}
	case path != "":
		for _, folder := range filepath.SplitList(path) {
			if _, err := exec.LookPath(filepath.Join(folder, program)); err == nil || strings.Contains(folder, "$") {
				return
			}
		}
		c.wrong("%s: its command %s is not in the PATH of its entry", name, program)
	default:
		if _, err := exec.LookPath(program); errors.Is(err, exec.ErrNotFound) {
			c.wrong("%s: its command %s is not there; a full path is found from every client", name, program)
		}
	}
}

// browser says what mcprec view --open starts.
func (c *checkup) browser() {
	program := view.Opener()[0]
	if path, err := exec.LookPath(program); err == nil {
		c.say("browser", "%s opens it", path)
	} else {
		c.say("browser", "%s is not here: open the address that mcprec view prints", program)
	}
}
