package why_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

const handshake = `> {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{%s},"clientInfo":{"name":"c","version":"1"}}}
< {"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
> {"method":"notifications/initialized"}`

// session is a session of testdata/sessions.txt: its events, and what is known beside them.
//
//	> FRAME, < FRAME      with a number for HTTP: >3 FRAME; >~ and <3~ have no end,
//	                      >q and <q are in quotes, as Go has them
//	KIND[/DIR[/STREAM]] PAYLOAD
//	@ CAPABILITIES        the handshake; "@ old" that of 2024-11-05
//	wait DURATION
//	open PIPE TEXT        a line without an end
//	newline PIPE SEQ      a message whose newline has not come yet
//	process STATE
//	below NAME AGE [reads] [writes]  a process below it that has its input
//	server reads          it waits in a read of its input
//	asleep                all its threads sleep
//	muted                 it waits in a write to standard error
//	live DURATION         the session goes on, and that long after the last event is now
//
//	times N               the lines until "done" come N times, with the number of the round, from 100 on, for $N
//
// Each event is a millisecond after the one before.
type session struct {
	events []store.Event
	live   why.Live
}

func readSession(t *testing.T, text string) (s session) {
	for text = "\n" + text; ; {
		before, rest, ok := strings.Cut(text, "\ntimes ")
		if !ok {
			break
		}
		count, rest, _ := strings.Cut(rest, "\n")
		round, after, _ := strings.Cut(rest, "\ndone")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			before += "\n" + strings.ReplaceAll(round, "$N", strconv.Itoa(100+i))
		}
		text = before + after
	}
	text = strings.TrimSpace(text)
	at := time.Duration(0)
	duration := func(text string) time.Duration {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for line := range strings.Lines(text) {
		if capabilities, ok := strings.CutPrefix(line, "@"); ok {
			capabilities, isOld := strings.CutPrefix(strings.TrimSpace(capabilities), "old")
			greeting := strings.Replace(handshake, "%s", capabilities, 1)
			if isOld {
				greeting = strings.ReplaceAll(greeting, mcp.Revision2025_11_25, mcp.Revision2024_11_05)
			}
			text = strings.Replace(text, line, greeting+"\n", 1)
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		sign, rest, _ := strings.Cut(line, " ")
		at += time.Millisecond
		e := store.Event{Seq: uint64(len(s.events)) + 1, At: at, Kind: store.Frame, Payload: []byte(rest)}
		number := func(text string) uint64 {
			n, _ := strconv.ParseUint(text, 10, 64)
			return n
		}
		switch {
		case sign == "wait":
			at += duration(rest)
			continue
		case sign == "open":
			pipe, text, _ := strings.Cut(rest, " ")
			dir, _ := transport.ParseDirection(pipe)
			s.live.Lines = append(s.live.Lines, store.OpenLine{Pipe: pipe, Dir: dir, Size: int64(len(text)), Text: []byte(text), Since: at, At: at})
			continue
		case sign == "newline":
			pipe, seq, _ := strings.Cut(rest, " ")
			dir, _ := transport.ParseDirection(pipe)
			s.live.Lines = append(s.live.Lines, store.OpenLine{Pipe: pipe, Dir: dir, Frame: number(seq)})
			continue
		case sign == "process":
			s.live.Server = why.Process{Name: "node", PID: 4711, State: rest}
			continue
		case sign == "below":
			words := strings.Fields(rest)
			s.live.Below = append(s.live.Below, why.Process{
				Name: words[0], PID: 4712 + len(s.live.Below), State: "sleeping", Age: duration(words[1]),
				Reads: slices.Contains(words, "reads"), Writes: slices.Contains(words, "writes"),
			})
			continue
		case sign == "server": // reads
			s.live.Server.Reads = true
			continue
		case sign == "asleep":
			s.live.Server.Asleep = true
			continue
		case sign == "muted":
			s.live.Muted = s.live.Server
			s.live.Client = why.Process{Name: "app", PID: 4700, State: "running"}
			continue
		case sign == "live":
			s.live.Now = at + duration(rest)
			continue
		case sign[0] == '>':
			e.Dir, e.Stream, e.Unterminated = transport.ClientToServer, number(strings.TrimSuffix(sign[1:], "~")), strings.HasSuffix(sign, "~")
		case sign[0] == '<':
			e.Dir, e.Stream, e.Unterminated = transport.ServerToClient, number(strings.TrimSuffix(sign[1:], "~")), strings.HasSuffix(sign, "~")
		default:
			kind, where, _ := strings.Cut(sign, "/")
			dir, stream, _ := strings.Cut(where, "/")
			e.Kind, e.Stream = store.Kind(kind), number(stream)
			e.Dir, _ = transport.ParseDirection(dir)
		}
		if strings.HasSuffix(sign, "q") && e.Kind == store.Frame {
			text, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatal(rest, err)
			}
			e.Payload = []byte(text)
		} else if strings.HasPrefix(rest, "{") && e.Kind == store.Frame && !strings.HasPrefix(rest, `{"jsonrpc"`) {
			e.Payload = []byte(`{"jsonrpc":"2.0",` + rest[1:])
		}
		s.events = append(s.events, e)
	}
	return s
}

// TestSessions says of each session of testdata/sessions.txt what is stuck in it. The lines
// that begin with blanks are what it says; -update writes them.
func TestSessions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "sessions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		var kept []string
		for line := range strings.SplitSeq(block, "\n") {
			if !strings.HasPrefix(line, "  ") {
				kept = append(kept, line)
			}
		}
		fmt.Fprintln(&b, strings.Join(kept, "\n"))
		if len(kept) > 1 {
			fmt.Fprint(&b, explain(t, readSession(t, strings.Join(kept[1:], "\n"))))
		}
		fmt.Fprintln(&b)
	}
	replaytest.Golden(t, "sessions.txt", b.String())
}

func explain(t *testing.T, s session) string {
	var fold why.Fold
	if err := timeline.Project(timeline.Steps(jsonl.Each(s.events)), &fold); err != nil {
		t.Fatal(err)
	}
	r := fold.Report(s.live, 0)
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "  %s, %s, %v, calls %v: %s\n", f.Shape, f.Culprit, f.Waited, f.Calls, f.Text)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "    #%d %s\n", e.Seq, e.Text)
		}
		fmt.Fprintf(&b, "    proves: %s\n", f.Proves)
		if f.Suggests != "" {
			fmt.Fprintf(&b, "    suggests: %s\n", f.Suggests)
		}
		if f.Unknown != "" {
			fmt.Fprintf(&b, "    unknown: %s\n", f.Unknown)
		}
		fmt.Fprintf(&b, "    next: %s\n", f.Next)
	}
	for _, open := range r.Open {
		fmt.Fprintf(&b, "  %s: %s\n", open.Why, open.Text)
	}
	if !r.Stuck() {
		fmt.Fprintf(&b, "  nothing is stuck: %s\n", r.Last)
	}
	fmt.Fprintf(&b, "  asked at %v", r.Now)
	if r.Ended != "" {
		fmt.Fprintf(&b, ": %s", r.Ended)
	}
	fmt.Fprintln(&b)
	return b.String()
}
