package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/clientconfig"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/running"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// RunningServer is the stable form of ps --format json.
type RunningServer struct {
	PID       int             `json:"pid"`
	Name      string          `json:"name,omitempty"` // in a client's configuration
	Command   []string        `json:"command"`        // masked
	Reason    running.Reason  `json:"known_by"`
	Client    *running.Party  `json:"client,omitempty"`
	Host      string          `json:"configured_for,omitempty"`
	Age       time.Duration   `json:"age_ns"`
	Memory    int64           `json:"memory_bytes"`
	Doing     string          `json:"doing"`
	Stuck     time.Duration   `json:"stuck_ns,omitempty"`
	ToServer  int             `json:"unread_by_server"`
	ToClient  int             `json:"unread_by_client"`
	Recorded  bool            `json:"recorded"`
	Session   store.SessionID `json:"session,omitempty"`
	Orphan    string          `json:"orphan,omitempty"` // why it is one
	Processes []int           `json:"processes"`        // it and its launchers
}

// RunningServers are the servers that run, and what could not be looked at.
type RunningServers struct {
	List   []RunningServer
	Hidden int // processes of other users
}

// Running returns the MCP servers that run. db may have no recordings.
func Running(ctx context.Context, db *session.Store) (found RunningServers, err error) {
	table, err := running.Look()
	if err != nil {
		return found, err
	}
	known, err := knownServers(ctx, db)
	found.Hidden = table.Hidden()
	found.List = []RunningServer{}
	for _, i := range table.Find(known) {
		sight := table.See(i, 0)
		if sight.IsGone {
			continue
		}
		found.List = append(found.List, runningServer(db.Masker, i, sight))
	}
	return found, err
}

// Unrecorded returns how many servers run that nobody records; 0 where that is not known.
func Unrecorded(ctx context.Context, db *session.Store) (count int, err error) {
	if procfs.Supported() != nil {
		return 0, nil
	}
	table, err := running.Look()
	if err != nil {
		return 0, err
	}
	known, err := knownServers(ctx, db)
	for _, i := range table.Find(known) {
		if !i.IsRecorded && i.Orphan == "" {
			count++
		}
	}
	return count, err
}

func runningServer(masker session.Masker, i running.Instance, sight running.Sight) RunningServer {
	line := RunningServer{
		PID: i.PID, Name: masker.Text(i.Name), Command: maskedCommand(masker, i.Command), Reason: i.Reason, Host: i.Host, Age: i.Age, Memory: i.Memory,
		ToServer: sight.ToServer.Size, ToClient: sight.ToClient.Size, Recorded: i.IsRecorded, Session: store.SessionID(i.Session),
		Orphan: i.Orphan, Processes: i.Started,
	}
	if i.Client.PID != 0 {
		line.Client = &i.Client
	}
	line.Doing, line.Stuck = sight.Doing()
	return line
}

// maskedCommand masks a command line as that of a recording is.
func maskedCommand(masker session.Masker, command []string) []string {
	header := store.Header{Command: command}
	return masker.Of(header).Header(header).Command
}

// Title is a few words for a server: its name in a configuration, or its program.
func (s RunningServer) Title() string {
	if s.Name != "" {
		return s.Name
	}
	if len(s.Command) == 0 {
		return "?"
	}
	words := []string{filepath.Base(s.Command[0])}
	for _, word := range s.Command[1:] {
		if word == "-c" || word == "-e" || word == "--eval" { // what follows is a program, and no file's name
			break
		}
		if !strings.HasPrefix(word, "-") {
			words = append(words, filepath.Base(word))
			break
		}
	}
	return phrase.Name(strings.Join(words, " "))
}

// knownServers returns what recordings and the configurations of clients say of servers. What could not be read is an
// error, and the rest counts.
func knownServers(ctx context.Context, db *session.Store) (known running.Known, err error) {
	known.IsRecorder = isRecorder
	recorded := map[procfs.ID]string{}
	for s, fault := range db.Sessions(ctx, store.Query{Newest: true}) {
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		if s.State != store.Live {
			continue
		}
		header, fault := headerOf(ctx, db, s.ID)
		if fault != nil && !session.IsGone(fault) {
			err = errors.Join(err, fault)
		}
		if header.Processes != nil {
			recorded[header.Processes.Server] = string(s.ID)
		}
	}
	known.Recording = func(id procfs.ID) string { return recorded[id] }
	system, fault := clientconfig.ThisSystem()
	if fault != nil {
		return known, errors.Join(err, fault)
	}
	servers := clientconfig.Look(system.Locations()).Servers // wrap and doctor say which file cannot be read
	known.Configured = func(command []string) (string, string, bool) {
		for i := range servers {
			if servers[i].Runs(command) {
				return servers[i].Name, servers[i].Client, true
			}
		}
		return "", "", false
	}
	return known, err
}

// isRecorder reports whether a command line is that of mcprec before a server.
func isRecorder(command []string) bool {
	own, err := os.Executable()
	return len(command) > 1 && slices.Contains([]string{"record"}, command[1]) &&
		(cli.IsMcprec(command[0]) || err == nil && filepath.Base(command[0]) == filepath.Base(own))
}

// headerOf returns the header of a session.
func headerOf(ctx context.Context, db *session.Store, id store.SessionID) (header store.Header, err error) {
	for e, err := range db.Read(ctx, id, 1, store.ReadOptions{}) {
		if err != nil {
			return header, fmt.Errorf("session %s: %w", id, err)
		}
		return store.ParseHeader(e.Payload)
	}
	return header, nil
}

// End returns the command that would end a server and its launchers.
func (s RunningServer) End() string {
	words := []string{"kill"}
	for _, pid := range s.Processes {
		words = append(words, fmt.Sprint(pid))
	}
	return strings.Join(words, " ")
}

// RunningHangs is what why says of a server that runs, from its processes alone, in the stable form of why PID
// --format json.
type RunningHangs struct {
	RunningServer
	Verdict  string        `json:"verdict"`
	Findings []why.Finding `json:"findings"`
	Facts    []string      `json:"facts"` // how each side stands
}

// Stuck reports whether something is stuck, or may be, or the server is an orphan.
func (a RunningHangs) Stuck() bool { return len(a.Findings) > 0 }

// HangsInProcess looks twice at the sessions of a process: of a server its own, of a client those of its servers. Of a
// server that is recorded only the session is told. The error is [procfs.ErrNotYours] for another user's process.
func HangsInProcess(ctx context.Context, db *session.Store, pid int) (answers []RunningHangs, err error) {
	table, found, err := tableOf(ctx, db, pid)
	if err != nil {
		return nil, err
	}
	const most = 64 << 10 // of what lies unread
	first := make([]running.Sight, len(found))
	for n, i := range found {
		first[n] = table.See(i, most)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(running.Between):
	}
	for n, i := range found {
		second := table.See(i, most)
		held, _ := running.Recall(i.PID) // without it less is told
		told := running.Judge(i, first[n], second, held, db.Masker.Text)
		answers = append(answers, RunningHangs{
			RunningServer: runningServer(db.Masker, i, second), Verdict: told.Verdict, Findings: told.Findings, Facts: told.Facts,
		})
	}
	return answers, nil
}

// tableOf returns the processes of this moment, and the sessions of one of them.
func tableOf(ctx context.Context, db *session.Store, pid int) (_ *running.Table, found []running.Instance, err error) {
	table, err := running.Look()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !table.Has(pid):
		return nil, nil, cli.Usagef("there is no process %d", pid)
	case table.IsHidden(pid):
		return nil, nil, fmt.Errorf("process %d is another user's, and %w; sudo mcprec why %[1]d looks at it", pid, procfs.ErrNotYours)
	}
	known, err := knownServers(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	found = table.Of(pid, known)
	if len(found) == 0 {
		return nil, nil, cli.Usagef("process %d has no session on stdio: its input and its output are no pipes, and it holds no pipes of a server", pid)
	}
	return table, found, nil
}

// Text prints an answer as that of a recording is printed.
func (a RunningHangs) Text(w io.Writer) error {
	how := "not recorded"
	if a.Session != "" {
		how = "recorded: mcprec why " + string(a.Session)
	} else if a.Recorded {
		how = "recorded in another store"
	}
	fmt.Fprintf(w, "%s (%d), %s: %s\n", output.Plain(a.Title()), a.PID, how, a.Verdict)
	for _, f := range a.Findings {
		printFinding(w, f, "The processes prove")
		fmt.Fprintf(w, "Next: %s\n", output.Plain(f.Next))
	}
	if len(a.Findings) > 0 {
		fmt.Fprintln(w)
	}
	for _, fact := range a.Facts {
		fmt.Fprintf(w, "%s\n", output.Plain(fact))
	}
	return nil
}

// Attachable returns the server that a process is, or belongs to, for a recording. A client of one server stands for
// it; a server that is recorded is refused.
func Attachable(ctx context.Context, db *session.Store, pid int) (none running.Instance, _ error) {
	_, found, err := tableOf(ctx, db, pid)
	if err != nil {
		return none, err
	}
	switch {
	case len(found) > 1:
		return none, cli.Usagef("process %d is the client of %s; attach to one of them: mcprec ps", pid, phrase.Plural(len(found), "server"))
	case found[0].Session != "":
		return none, cli.Usagef("process %d is recorded as session %s: mcprec show -f %[2]s", pid, found[0].Session)
	}
	return found[0], nil
}
