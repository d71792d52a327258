package running

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Reason is why a process is taken for an MCP server.
type Reason string

// The reasons, the strongest first.
const (
	Recorded   Reason = "recording"     // it is recorded
	Configured Reason = "configuration" // a client's configuration names its command
	Speaks     Reason = "messages"      // what lies unread in its pipes is JSON-RPC
	Programmed Reason = "program"       // the file of its program is a server's
	Named      Reason = "asked for"     // the user gave its number
)

// Known is what the caller knows of servers. A nil function knows nothing.
type Known struct {
	// Configured returns the name of a command line in the configuration of a client.
	Configured func(command []string) (server, client string, ok bool)
	// Recording returns the session in which a process is recorded, "" for none.
	Recording func(procfs.ID) string
	// IsRecorder reports whether a command line is that of a recorder.
	IsRecorder func(command []string) bool
}

// Instance is an MCP server that runs, with what belongs to it.
type Instance struct {
	PID     int
	ID      procfs.ID
	Command []string // exact: mask it where it is shown
	Reason  Reason
	Name    string // in a client's configuration; "": it is in none
	Host    string // the client that this configuration is of
	Session string // in which it is recorded; "": in none that is known
	// IsRecorded is set if a recorder stands before it, with this store or another.
	IsRecorded bool
	Started    []int // the processes with its input: launchers first, the server itself among them
	Client     Party // PID 0: it has gone, or is not known
	Orphan     string
	Age        time.Duration
	Memory     int64 // bytes, of all that it has started, and of its launchers

	root     int    // the first of its processes
	input    string // the name of its pipe or socket
	output   string
	toServer end // where what is sent to it waits
	toClient end // where what it says waits; pid 0: not known
}

// Party is a process at the other end.
type Party struct {
	PID     int      `json:"pid"`
	Name    string   `json:"name"`
	Command []string `json:"-"`
}

// end is the reading end of a pipe.
type end struct{ pid, fd int }

// Find returns the servers that run, in the order of their numbers.
func (t *Table) Find(known Known) (list []Instance) {
	isRecorder := func(pid int) bool { return t.isRecorder(pid, known) }
	for _, group := range t.groups() {
		if slices.ContainsFunc(group, isRecorder) {
			continue
		}
		i := t.instanceOf(group)
		if isRecorder(i.Client.PID) {
			t.passRecorder(&i)
		}
		if t.know(&i, known) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b Instance) int { return a.PID - b.PID })
	return list
}

// isRecorder reports whether a process lives that is a recorder.
func (t *Table) isRecorder(pid int, known Known) bool {
	p := t.byPID[pid]
	return p != nil && len(p.Command) > 0 && known.IsRecorder != nil && known.IsRecorder(p.Command)
}

// passRecorder replaces a recorder by the client before it: the process that started the recorder, which holds the
// client's pipes at other descriptors than 0 and 1.
func (t *Table) passRecorder(i *Instance) {
	i.IsRecorded = true
	parent := t.byPID[i.Client.PID].Parent
	if t.byPID[parent] == nil || parent == 1 {
		i.Orphan = fmt.Sprintf("the client of its recorder (%d) has gone", i.Client.PID)
		i.Client = Party{}
		return
	}
	i.Client = t.party(parent)
}

// Of returns the sessions of a process: the one whose server or launcher it is, or else those whose client it is. A
// process that no other evidence calls a server is one here, because the caller asks for it.
func (t *Table) Of(pid int, known Known) (list []Instance) {
	for _, group := range t.groups() {
		i := t.instanceOf(group)
		isClient := i.Client.PID == pid
		i.IsRecorded = t.isRecorder(i.Client.PID, known)
		if !slices.Contains(group, pid) && !isClient {
			continue
		}
		isKnown := t.know(&i, known)
		if !isKnown && isClient {
			continue
		}
		if !isKnown {
			i.Reason = Named
		}
		list = append(list, i)
	}
	asServer := slices.DeleteFunc(slices.Clone(list), func(i Instance) bool { return i.Client.PID == pid })
	if len(asServer) > 0 {
		return asServer
	}
	return list
}

// groups returns the processes that share an input, each launcher before its children. Their input and output are
// pipes or sockets.
func (t *Table) groups() (list [][]int) {
	byInput := map[string][]int{}
	var order []string
	for i := range t.list {
		p := &t.list[i]
		in := p.At(0)
		if in == "" || p.At(1) == "" {
			continue
		}
		if byInput[in] == nil {
			order = append(order, in)
		}
		byInput[in] = append(byInput[in], p.PID)
	}
	for _, in := range order {
		group := byInput[in]
		depth := func(pid int) (n int) {
			for _, above := range t.ancestors(pid) {
				if slices.Contains(group, above) {
					n++
				}
			}
			return n
		}
		slices.SortStableFunc(group, func(a, b int) int { return depth(a) - depth(b) })
		list = append(list, group)
	}
	return list
}

// instanceOf makes an Instance of the processes with one input, without the reason to call it a server.
func (t *Table) instanceOf(group []int) Instance {
	root := t.byPID[group[0]]
	i := Instance{Started: group, root: root.PID, input: root.At(0), output: root.At(1)}
	server := root
	for _, pid := range group {
		if p := t.byPID[pid]; p.At(1) == i.output {
			server = p
		}
	}
	i.PID, i.ID, i.Command, i.Age = server.PID, server.ID(), server.Command, server.Age
	i.toServer = end{server.PID, 0}
	own := slices.Clone(group)
	for _, pid := range t.below(root.PID) {
		if !slices.Contains(own, pid) {
			own = append(own, pid)
		}
	}
	for _, pid := range own {
		i.Memory += t.byPID[pid].Memory
	}
	writers, readers := t.across(i.input, true, own), t.across(i.output, false, own)
	t.findClient(&i, writers, readers)
	if i.Client.PID == 0 {
		t.judgeOrphan(&i, writers, readers, own)
	}
	return i
}

// findClient finds the process that holds both other ends: the nearest ancestor among the holders, or else the oldest
// holder, because a client's other children may have inherited the ends.
func (t *Table) findClient(i *Instance, writers, readers []holder) {
	both := func(pid int) bool {
		_, writes := holds(writers, pid)
		_, reads := holds(readers, pid)
		return writes && reads
	}
	client := 0
	for _, pid := range t.ancestors(i.root) {
		if client == 0 && both(pid) {
			client = pid
		}
	}
	for _, h := range writers {
		if both(h.pid) && (client == 0 || !slices.Contains(t.ancestors(i.root), client) && t.byPID[h.pid].Age > t.byPID[client].Age) {
			client = h.pid
		}
	}
	if client == 0 {
		return
	}
	i.Client = t.party(client)
	fd, _ := holds(readers, client)
	i.toClient = end{client, fd}
}

func (t *Table) party(pid int) Party {
	p := t.byPID[pid]
	return Party{PID: pid, Name: p.Name, Command: p.Command}
}

// judgeOrphan says why a server without a client is an orphan; "" if its client may be a process that does not show
// what it holds.
func (t *Table) judgeOrphan(i *Instance, writers, readers []holder, own []int) {
	parent := t.byPID[i.root].Parent
	isOver := false // nobody holds the other end of its input
	if u, err := t.peek(i.PID, 0, 0); err == nil {
		isOver = u.IsOver
	}
	named := func(h holder) string { return fmt.Sprintf("%s (%d)", t.byPID[h.pid].Name, h.pid) }
	switch keepers := t.across(i.input, true, nil); {
	case isOver && len(readers) > 0:
		i.Orphan = fmt.Sprintf("its input has ended, and %s still reads its output", named(readers[0]))
	case isOver:
		i.Orphan = "nobody holds the other end of its input"
	case len(writers) > 0 && len(readers) == 0:
		i.Orphan = fmt.Sprintf("its client has gone; only %s, which does not read its output, keeps its input open", named(writers[0]))
	case len(writers) > 0: // two processes share the work: a pipeline, or a client of several processes
	case len(keepers) > 0 && slices.Contains(own, keepers[0].pid):
		i.Orphan = fmt.Sprintf("its client has gone; only its own process %s keeps its input open", named(keepers[0]))
	case t.IsHidden(parent) && parent != 1:
		i.Client = Party{PID: parent, Name: t.byPID[parent].Name}
	}
}

// know finds the reason to call an Instance a server; false if there is none.
func (t *Table) know(i *Instance, known Known) bool {
	for _, pid := range i.Started {
		if known.Recording != nil && i.Session == "" {
			i.Session = known.Recording(t.byPID[pid].ID())
		}
		if known.Configured != nil && i.Name == "" {
			if name, host, ok := known.Configured(t.byPID[pid].Command); ok {
				i.Name, i.Host = name, host
			}
		}
	}
	i.IsRecorded = i.IsRecorded || i.Session != ""
	isPair := i.Client.PID != 0 || i.Orphan != "" // and no stage of a pipeline
	switch {
	case i.IsRecorded:
		i.Reason = Recorded
	case i.Name != "":
		i.Reason = Configured
	case isPair && t.speaks(i):
		i.Reason = Speaks
	case isPair && slices.ContainsFunc(i.Started, t.isServer):
		i.Reason = Programmed
	default:
		return false
	}
	return true
}

// speaks reports whether the unread bytes between a server and its client are lines of JSON-RPC. If a server without
// a client has another reader of its output, it is a stage of a pipeline.
func (t *Table) speaks(i *Instance) bool {
	if i.Client.PID == 0 && len(t.across(i.output, false, i.Started)) > 0 {
		return false
	}
	const enough = 8 << 10
	for _, at := range []struct {
		end
		isInput bool
	}{{i.toServer, true}, {i.toClient, false}} {
		if at.pid == 0 {
			continue
		}
		if u, err := t.peek(at.pid, at.fd, enough); err == nil && isRPC(u.Begin, at.isInput) {
			return true
		}
	}
	return false
}

// ofClient are methods that only a client sends: a program that prints them shows a recording.
var ofClient = []string{
	mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodListTools, mcp.MethodCallTool, mcp.MethodListPrompts, mcp.MethodGetPrompt,
	mcp.MethodListResources, mcp.MethodListResourceTemplates, mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodUnsubscribe,
	mcp.MethodSetLogLevel, mcp.MethodComplete, mcp.MethodListen, mcp.NotificationInitialized, mcp.NotificationRootsListChanged,
}

// isRPC reports whether a line of a text is a message of JSON-RPC, of the input of a server or of its output. The first
// line may be the rest of one, and the last the beginning. A language server speaks JSON-RPC, too, with a header before
// each message, and of documents.
func isRPC(text []byte, isInput bool) bool {
	const version, opening, header, documents = `"jsonrpc"`, `{"jsonrpc":"2.0"`, "Content-Length:", "textDocument/"
	if bytes.Contains(text, []byte(header)) || bytes.Contains(text, []byte(documents)) {
		return false
	}
	found := false
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if !bytes.Contains(line, []byte(version)) {
			continue
		}
		messages, err := transport.Frame{Bytes: line}.Messages()
		for _, m := range messages {
			if !isInput && slices.Contains(ofClient, m.Method) {
				return false
			}
			found = found || m.Kind() != transport.Invalid
		}
		if err != nil && bytes.HasPrefix(line, []byte(opening)) && !strings.Contains(string(line), "\x00") {
			found = true // it is longer than what was looked at
		}
	}
	return found
}
