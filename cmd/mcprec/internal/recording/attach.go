package recording

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/running"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// longestText is how many bytes of one call strace writes: more than a pipe takes at once.
const longestText = 64 << 20

// attachment records a server that runs, from what strace says of it.
type attachment struct {
	server running.Instance
	rec    *recorder.Recorder
	tracer *exec.Cmd
	reader foreign.StraceReader
	taps   map[transport.Direction]*recorder.Tap
	errors *recorder.Tap
	begun  map[transport.Direction]bool // the first bytes were a message's first
	over   map[transport.Direction]bool
	exited bool
	bytes  int
}

// Attach records a server that runs from now on, until it ends or a signal comes; then it lets it go as it was. strace
// reads what passes, and each byte passes as without it.
func Attach(ctx context.Context, std cli.Streams, options Options, server running.Instance) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return cli.Usagef("attach needs strace, which is not in the PATH: apt install strace, or dnf install strace")
	}
	r, err := newRecording(std, options)
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("attach to process %d: %w", server.PID, err)
	}
	defer read.Close()
	a := &attachment{server: server, taps: map[transport.Direction]*recorder.Tap{}, begun: map[transport.Direction]bool{}, over: map[transport.Direction]bool{}}
	a.reader.Files = server.Files()
	a.tracer = exec.Command(strace, "-f", "-y", "-ttt", "-s", strconv.Itoa(longestText), "-e", "signal=none", "-o", "/dev/fd/3",
		"-e", "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg", "-p", strconv.Itoa(server.PID))
	a.tracer.ExtraFiles = []*os.File{write}
	a.tracer.SysProcAttr = ownGroup() // ^C is for us, who then let the process go
	said, err := a.tracer.StderrPipe()
	if err != nil {
		return fmt.Errorf("attach to process %d: %w", server.PID, err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	before := procfs.Switches(server.PID)
	if err := a.tracer.Start(); err != nil {
		return fmt.Errorf("attach to process %d: %w", server.PID, errors.Join(err, write.Close()))
	}
	_ = write.Close()
	if err := a.awaitAttached(said); err != nil {
		return errors.Join(err, ignoreExit(a.tracer.Wait()))
	}
	awaitTraced(ctx, server.PID, before)
	if err := a.begin(r); err != nil {
		a.detach()
		return errors.Join(err, ignoreExit(a.tracer.Wait()))
	}
	r.say("session %s records process %d from now on; ^C ends it, and leaves the process as it is", a.rec.ID(), server.PID)
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		select {
		case <-signals:
			a.detach()
		case <-ctx.Done():
			a.detach()
		case <-ended:
		}
	}()
	err = a.read(read)
	close(ended)
	<-left
	err = errors.Join(err, ignoreExit(a.tracer.Wait()))
	sum := a.rec.Close()
	r.say("session %s: %s recorded", sum.ID, phrase.Plural(a.bytes, "byte"))
	return errors.Join(err, sum.Err, r.db.Close())
}

// ignoreExit leaves out how strace ended: it ends by the signal that it was sent, or as its process does.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// detach asks strace to let the process go.
func (a *attachment) detach() { _ = a.tracer.Process.Signal(os.Interrupt) }

// awaitAttached reads what strace says until it has the process, and goes on to read it, so that strace never waits.
func (a *attachment) awaitAttached(said io.Reader) error {
	lines := bufio.NewReader(said)
	var faults []string
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, " attached") {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return nil
		}
		if text := strings.TrimSpace(strings.TrimPrefix(line, "strace: ")); text != "" {
			faults = append(faults, text)
		}
		if err == nil {
			continue
		}
		text := strings.Join(faults, "; ")
		if strings.Contains(text, "not permitted") {
			return fmt.Errorf("attach to process %d: %s; another tracer has it, or the system keeps it from you (kernel.yama.ptrace_scope): try sudo mcprec attach %[1]d", a.server.PID, text)
		}
		return fmt.Errorf("attach to process %d: strace says: %s", a.server.PID, text)
	}
}

// awaitTraced waits until each thread of a process is seen: strace stops it, lets it enter its call again and stops it
// there, and it sleeps again. Before that it may end a call that strace does not tell.
func awaitTraced(ctx context.Context, pid int, before map[string]uint64) {
	const switches = 3
	for {
		now := procfs.Switches(pid)
		isSeen := true
		for thread, count := range before {
			after, lives := now[thread]
			isSeen = isSeen && (!lives || after >= count+switches)
		}
		if isSeen {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// begin opens the recording, and notes what it cannot have.
func (a *attachment) begin(r *recording) (err error) {
	if r.db, err = session.OpenRecorder(r.Home, r.Sync); err != nil {
		return err
	}
	header := r.headerOf(a.server.Command)
	header.Processes = &store.Processes{Server: a.server.ID, Recorder: procfs.Identify(os.Getpid()), Client: procfs.Identify(a.server.Client.PID)}
	if a.rec, err = recorder.New(context.Background(), r.db, header, r.options()...); err != nil {
		return errors.Join(err, r.db.Close())
	}
	text := fmt.Sprintf("attached by strace to a session that was under way: process %d had run for %v. What was said before is not here",
		a.server.PID, phrase.Brief(a.server.Age))
	if unread := a.server.UnreadOutput(); unread > 0 {
		text += fmt.Sprintf(", nor %s of its output that lay unread", phrase.Plural(unread, "byte"))
	}
	a.rec.Record(store.Note, transport.NoDirection, store.NoteInfo{Text: text})
	a.taps[transport.ClientToServer] = a.rec.Tap(transport.ClientToServer)
	a.taps[transport.ServerToClient] = a.rec.Tap(transport.ServerToClient)
	a.errors = a.rec.StderrTap()
	return nil
}

// read records what strace says, until it ends.
func (a *attachment) read(from io.Reader) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if t, ok := a.reader.Line(line); ok {
			a.take(t)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what strace says of process %d: %w", a.server.PID, err)
		}
	}
}

// take records what one line says.
func (a *attachment) take(t foreign.Traced) {
	switch t.Kind {
	case store.Exited:
		if t.PID == a.server.PID || t.PID == 0 {
			a.exited = true
			a.rec.Record(store.Exited, transport.NoDirection, t.Exit)
		}
	case store.EOF:
		if !a.over[t.Dir] {
			a.over[t.Dir] = true
			a.taps[t.Dir].End(store.EOFInfo{By: t.By})
		}
	case store.Stderr:
		a.errors.Observe(t.Data)
	default:
		a.observe(t)
	}
	if t.Missing > 0 {
		a.rec.Record(store.Note, t.Dir, store.NoteInfo{Text: fmt.Sprintf("strace has left out %d bytes of the message before this", t.Missing)})
	}
}

// observe records bytes of a direction. The first ones may be the rest of a message, which is noted and left out.
func (a *attachment) observe(t foreign.Traced) {
	data := t.Data
	if !a.begun[t.Dir] {
		line, rest, ended := strings.Cut(string(data), "\n")
		text := strings.TrimLeft(line, " \t\r")
		if text != "" && text[0] != '{' && text[0] != '[' {
			a.rec.Record(store.Note, t.Dir, store.NoteInfo{Text: fmt.Sprintf("the rest of a message that began before the recording: %d bytes", len(line))})
			if !ended {
				return
			}
			data = []byte(rest)
		}
		a.begun[t.Dir] = true
	}
	if len(data) > 0 {
		a.bytes += len(data)
		a.taps[t.Dir].Observe(data)
	}
}
