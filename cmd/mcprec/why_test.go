//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/explain"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport/mcp"
)

// TestWhy runs testdata/why/*.txtar: real process pairs that hang, or do not, and what why
// says of them while they do and after each of three ends. See the README there.
func TestWhy(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/why",
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"hang": hangCommand},
	})
}

// TestWhyWatchWaits: why --watch waits for a session that is not there yet, and tells of it.
func TestWhyWatchWaits(t *testing.T) {
	home := t.TempDir()
	errs, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	out, err := os.Create(filepath.Join(home, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ended := make(chan *exit.Status)
	go func() {
		s := run(t.Context(), []string{"why", "--store", home, "--watch", "seed"}, process.Streams{Out: out, Err: said})
		said.Close()
		ended <- s
	}()
	line, err := bufio.NewReader(errs).ReadString('\n')
	if err != nil || !strings.Contains(line, "the label seed in ") || !strings.HasSuffix(line, "; waiting for one\n") {
		t.Fatalf("%q, %v", line, err)
	}
	imported := run(t.Context(), []string{"import", "--store", home, "../../fixtures/seed.jsonl"}, process.Streams{Out: os.Stderr, Err: os.Stderr})
	if imported.Code != exit.Fine {
		t.Fatalf("import: %v", imported)
	}
	status := <-ended
	text, err := os.ReadFile(out.Name())
	if err != nil || status.Code != exit.Fine || !strings.Contains(string(text), "(seed): nothing is stuck") {
		t.Fatalf("%v, %v: %s", status, err, text)
	}
}

// playLine is a line of a play: who does what, over HTTP on which exchange.
type playLine struct {
	who      byte // '>' the client, '<' the server
	exchange int
	what     string
}

// isFrame reports whether the other end hears of the line.
func (l playLine) isFrame() bool {
	return l.what != "" && (l.what[0] == '{' || l.exchange != 0)
}

const (
	playInitialize  = `{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{%s},"clientInfo":{"name":"c","version":"1"}}}`
	playInitialized = `{"method":"notifications/initialized"}`
	playGreeting    = `{"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
)

// readPlay reads a play. A line "@ CAPABILITIES" is the handshake; "@ old" that of 2024-11-05.
func readPlay(text string) (lines []playLine) {
	add := func(text string) {
		what := strings.TrimLeft(text[1:], "0123456789")
		n, _ := strconv.Atoi(text[1 : len(text)-len(what)])
		what = strings.TrimPrefix(what, " ")
		if rest, ok := strings.CutPrefix(what, "{"); ok {
			what = `{"jsonrpc":"2.0",` + rest
		}
		lines = append(lines, playLine{text[0], n, what})
	}
	for text := range strings.Lines(text) {
		text = strings.TrimSuffix(text, "\n")
		capabilities, isHandshake := strings.CutPrefix(text, "@")
		isHTTP := strings.HasPrefix(capabilities, "http")
		switch {
		case text == "" || text[0] == '#':
		case isHandshake && isHTTP:
			for _, l := range []string{">1 " + playInitialize, "<1 head 200 json", "<1 " + playGreeting, ">2 " + playInitialized, "<2 head 202"} {
				add(strings.Replace(l, "%s", strings.TrimSpace(capabilities[len("http"):]), 1))
			}
		case isHandshake:
			capabilities, isOld := strings.CutPrefix(strings.TrimSpace(capabilities), "old")
			revision := strings.NewReplacer()
			if isOld {
				revision = strings.NewReplacer(mcp.Revision2025_11_25, mcp.Revision2024_11_05)
			}
			add("> " + revision.Replace(strings.Replace(playInitialize, "%s", capabilities, 1)))
			add("< " + revision.Replace(playGreeting))
			add("> " + playInitialized)
		default:
			add(text)
		}
	}
	return lines
}

// stuckServer is the server of a play:
//
//	stuckserver stdio|http PLAY DONE
//
// It writes its pid to the FIFO DONE when it has done all its lines.
func stuckServer() {
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	lines, done := readPlay(string(text)), func() {
		_ = os.WriteFile(os.Args[3], fmt.Appendln(nil, os.Getpid()), 0o600)
	}
	if os.Args[1] == "http" {
		serveHTTPPlay(lines, done)
		return
	}
	e := &stdioEnd{who: '<', in: bufio.NewReader(os.Stdin), out: os.Stdout}
	e.play(lines, done)
	e.drain()
	if e.atEnd != "" {
		fmt.Print(e.atEnd)
	}
}

// stdioEnd is an end of a play on pipes.
type stdioEnd struct {
	who   byte
	in    *bufio.Reader
	out   io.Writer
	deaf  bool
	atEnd string // what it writes when its input ends
	write sync.Mutex
}

// play does the lines of its own end, each after it has heard the frames before it, and then
// calls done.
func (e *stdioEnd) play(lines []playLine, done func()) {
	last := 0
	for i, l := range lines {
		if l.who == e.who {
			last = i + 1
		}
	}
	if last == 0 {
		done()
	}
	for i, l := range lines {
		if l.who != e.who {
			if l.isFrame() && !e.deaf {
				_, _ = e.in.ReadString('\n')
			}
			continue
		}
		if i+1 == last {
			if word, _, _ := strings.Cut(l.what, " "); word == "exit" || word == "stop" || word == "flood" { // it does not return
				done()
			} else {
				defer done()
			}
		}
		e.act(l.what)
	}
}

// act does one line.
func (e *stdioEnd) act(what string) {
	word, rest, _ := strings.Cut(what, " ")
	switch word {
	case "raw":
		io.WriteString(e.out, strings.ReplaceAll(rest, `\x0a`, "\n"))
	case "hear":
		_, _ = io.CopyN(io.Discard, e.in, int64(len(rest)))
	case "stderr":
		fmt.Fprintln(os.Stderr, rest)
	case "exit":
		n, _ := strconv.Atoi(rest)
		os.Exit(n)
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "deaf":
		e.deaf = true
	case "stays":
		signal.Ignore(syscall.SIGPIPE)
		e.deaf = true
	case "flood":
		go func() {
			for {
				if _, err := fmt.Fprintf(e.out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%01000d"}}`+"\n", 0); err != nil {
					return
				}
			}
		}()
	case "every":
		every, frame, _ := strings.Cut(rest, " ")
		pause, _ := time.ParseDuration(every)
		go func() {
			for {
				time.Sleep(pause)
				e.say(strings.Replace(frame, "{", `{"jsonrpc":"2.0",`, 1))
			}
		}()
	case "pause":
		pause, _ := time.ParseDuration(rest)
		time.Sleep(pause)
	case "at-end":
		e.atEnd = strings.Replace(rest, "{", `{"jsonrpc":"2.0",`, 1) + "\n"
	default:
		e.say(what)
	}
}

func (e *stdioEnd) say(frame string) {
	e.write.Lock()
	defer e.write.Unlock()
	io.WriteString(e.out, frame+"\n")
}

// drain reads to the end, unless the end no longer reads.
func (e *stdioEnd) drain() {
	if e.deaf {
		select {}
	}
	_, _ = io.Copy(io.Discard, e.in)
}

// serveHTTPPlay is the server of a play over HTTP. It prints its URL.
func serveHTTPPlay(lines []playLine, done func()) {
	type exchange struct {
		arrived chan struct{}
		acts    chan string
	}
	exchanges := map[int]*exchange{}
	for _, l := range lines {
		if exchanges[l.exchange] == nil {
			exchanges[l.exchange] = &exchange{make(chan struct{}), make(chan string)}
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	go func() {
		for _, l := range lines {
			x := exchanges[l.exchange]
			switch {
			case l.who == '>':
				<-x.arrived
			case strings.HasPrefix(l.what, "stderr "):
				fmt.Fprintln(os.Stderr, l.what[len("stderr "):])
			case l.what == "stop":
				done()
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			default:
				x.acts <- l.what
				x.acts <- "" // it is done
			}
		}
		done()
	}()
	_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.Header.Get("X-Exchange"))
		x := exchanges[n]
		if x == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		close(x.arrived)
		stream := false
		for {
			select {
			case <-r.Context().Done():
				return
			case act := <-x.acts:
				word, rest, _ := strings.Cut(act, " ")
				switch {
				case word == "end":
					<-x.acts
					return
				case word == "break":
					<-x.acts
					panic(http.ErrAbortHandler)
				case word == "head":
					code, kind, _ := strings.Cut(rest, " ")
					stream = kind == "stream"
					w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
					status, _ := strconv.Atoi(code)
					w.WriteHeader(status)
				case word == "every":
					every, frame, _ := strings.Cut(rest, " ")
					pause, _ := time.ParseDuration(every)
					for r.Context().Err() == nil {
						fmt.Fprintf(w, "data: %s\n\n", strings.Replace(frame, "{", `{"jsonrpc":"2.0",`, 1))
						_ = http.NewResponseController(w).Flush()
						time.Sleep(pause)
						select {
						case <-x.acts:
						default:
						}
					}
				case word == "sse":
					fmt.Fprint(w, strings.ReplaceAll(rest, `\n`, "\n")+"\n\n")
				case act == "":
					continue
				case stream:
					fmt.Fprintf(w, "data: %s\n\n", act)
				default:
					fmt.Fprint(w, act)
					<-x.acts
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
}

// clientHTTPPlay is the client of a play over HTTP, through the recorder's URL.
func clientHTTPPlay(ctx context.Context, url string, lines []playLine, done func()) {
	heard := make(chan struct{}, 1000)
	for _, l := range lines {
		switch {
		case l.who == '<' && (strings.HasPrefix(l.what, "stderr ") || l.what == "stop" || strings.HasPrefix(l.what, "every ")):
		case l.who == '<':
			select {
			case <-heard:
			case <-ctx.Done():
				return
			}
		case strings.HasPrefix(l.what, "pause "):
			pause, _ := time.ParseDuration(l.what[len("pause "):])
			time.Sleep(pause)
		default:
			go func() {
				method, body := http.MethodPost, l.what
				id, isGet := strings.CutPrefix(l.what, "GET")
				if isGet {
					method, body = http.MethodGet, ""
				}
				req, _ := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
				req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-Exchange": {strconv.Itoa(l.exchange)}}
				if id != "" {
					req.Header.Set("Last-Event-ID", strings.TrimSpace(id))
				}
				resp, err := (&http.Transport{}).RoundTrip(req)
				heard <- struct{}{}
				if err != nil {
					return
				}
				defer resp.Body.Close()
				stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
				r := bufio.NewReader(resp.Body)
				for {
					line, err := r.ReadString('\n')
					if stream && line == "\n" || err != nil && resp.StatusCode != http.StatusAccepted {
						heard <- struct{}{}
					}
					if err != nil {
						return
					}
				}
			}()
		}
	}
	done()
}

// hungSession is a recorded session of a play while it goes on.
type hungSession struct {
	home     string
	recorder *exec.Cmd
	isStdio  bool
	done     [2]<-chan struct{} // the lines of each end
	pid      int                // of the server, once it has done its lines
	close    func()             // closes the client's end
	over     chan struct{}      // the client's goroutine has returned
}

// hangCommand is the command of testdata/why: it plays the file "play" between a client and a
// server, asks why while the session stands, and after each way to end it, and compares with
// the file "want".
//
//	hang stdio|http [AFTER]
func hangCommand(ts *testscript.TestScript, neg bool, args []string) {
	after := 150 * time.Millisecond
	if len(args) > 1 {
		after, _ = time.ParseDuration(args[1])
	}
	want := ts.ReadFile("want")
	var got strings.Builder
	for _, end := range []string{"client closes", "recorder interrupted", "server killed"} {
		wants := func(title string) string {
			_, text, _ := strings.Cut("\n"+want, "\n"+title+": ")
			var b strings.Builder
			for line := range strings.Lines(text) {
				if b.Len() > 0 && !strings.HasPrefix(line, "  ") {
					break
				}
				b.WriteString(line)
			}
			return b.String()
		}
		dir := ts.MkAbs(strings.ReplaceAll(end, " ", "-"))
		ts.Check(os.MkdirAll(dir, 0o700))
		s := startHung(ts, args[0], dir)
		for _, done := range s.done {
			select {
			case <-done:
			case <-time.After(time.Minute):
				ts.Fatalf("%s: an end of the play does not come to its last line", end)
			}
		}
		said := s.ask(ts, after, true, wants("while it stands"))
		if end == "client closes" {
			got.WriteString("while it stands: " + said)
		} else if first := wants("while it stands"); said != first && !*update {
			ts.Fatalf("while it stands, before %s:\n%swant:\n%s", end, said, first)
		}
		switch end {
		case "client closes":
			s.close()
		case "recorder interrupted":
			_ = s.recorder.Process.Signal(os.Interrupt)
		case "server killed":
			_ = syscall.Kill(s.pid, syscall.SIGKILL)
		}
		got.WriteString(end + ": " + s.ask(ts, after, false, wants(end)))
		_ = s.recorder.Process.Kill()
		_ = syscall.Kill(s.pid, syscall.SIGKILL)
		_ = s.recorder.Wait()
		s.close()
		<-s.over
	}
	ts.Check(os.WriteFile(ts.MkAbs("got"), []byte(got.String()), 0o600))
}

// startHung starts a play behind a recorder.
func startHung(ts *testscript.TestScript, transport, dir string) *hungSession {
	lines := readPlay(ts.ReadFile("play"))
	play, done := ts.MkAbs("play"), filepath.Join(dir, "done")
	s := &hungSession{home: filepath.Join(dir, "home"), isStdio: transport == "stdio", over: make(chan struct{})}
	server, client := make(chan struct{}), make(chan struct{})
	s.done = [2]<-chan struct{}{server, client}
	ts.Check(syscall.Mkfifo(done, 0o600))
	fifo, err := os.OpenFile(done, os.O_RDWR, 0) // to open it for reading only waits for the server
	ts.Check(err)
	go func() {
		defer close(server)
		_, _ = fmt.Fscanln(fifo, &s.pid)
	}()
	ts.Defer(func() {
		fmt.Fprintln(fifo) // of a server that did not come to its last line
		<-server
		_ = fifo.Close()
	})
	if !s.isStdio {
		remote := exec.Command("stuckserver", "http", play, done)
		out, err := remote.StdoutPipe()
		ts.Check(err)
		ts.Check(remote.Start())
		target, err := bufio.NewReader(out).ReadString('\n')
		ts.Check(err)
		s.recorder = exec.Command("mcprec", "record", "--store", s.home, "--target", strings.TrimSpace(target), "--listen", "127.0.0.1:0")
		urls, err := s.recorder.StdoutPipe()
		ts.Check(err)
		ts.Check(s.recorder.Start())
		url, err := bufio.NewReader(urls).ReadString('\n')
		ts.Check(err)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			defer close(s.over)
			clientHTTPPlay(ctx, strings.TrimSpace(url), lines, func() { close(client) })
		}()
		s.close = cancel
		ts.Defer(func() { cancel(); _ = remote.Process.Kill(); _ = remote.Wait() })
		return s
	}
	s.recorder = exec.Command("mcprec", "record", "--store", s.home, "--", "stuckserver", "stdio", play, done)
	in, err := s.recorder.StdinPipe()
	ts.Check(err)
	out, err := s.recorder.StdoutPipe()
	ts.Check(err)
	ts.Check(s.recorder.Start())
	end := &stdioEnd{who: '>', in: bufio.NewReader(out), out: in}
	go func() {
		defer close(s.over)
		end.play(lines, func() { close(client) })
		if !end.deaf {
			_, _ = io.Copy(io.Discard, end.in)
		}
	}()
	s.close = func() { in.Close(); out.Close() }
	return s
}

// ask asks why until it says what is wanted, or for long, and returns what it says: a line a
// finding, with shape, culprit and text. live: the answer counts once the session has stood for
// some time; else, on pipes, once the log has the end, unless the recorder cannot come to it.
func (s *hungSession) ask(ts *testscript.TestScript, after time.Duration, live bool, want string) string {
	deadline := time.Now().Add(20 * time.Second)
	began, before, same := time.Duration(0), "", 0
	stands := 2 * after
	if *update {
		stands = 5 * recorder.StallThreshold // what comes later is known
	}
	for {
		root := newRoot(process.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}) // not a process: there are thousands of questions
		var out bytes.Buffer
		root.SetArgs([]string{"why", "--store", s.home, "--after", after.String(), "--format", "json", "--all"})
		root.SetOut(&out)
		root.SetErr(&out)
		status := exit.Of(root.ExecuteContext(context.Background()))
		var a explain.Answer
		if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Stuck() != (status.Code == exit.Verdict) {
			ts.Fatalf("why: %v, %v: %s", err, status, out.Bytes())
		}
		if began == 0 {
			began = a.Now
		}
		said := saidOf(a)
		stood := a.State == "" || a.Now-began >= stands
		if !live {
			stood = !s.isStdio || a.Ended != "" || isBlocked(a)
		}
		if same++; said != before || !stood {
			before, same = said, 0
		}
		if stood && (said == want && !*update || *update && same > 30 || time.Now().After(deadline)) {
			return said
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// isBlocked reports whether the recorder of a session stands in a write to the server: it does
// not read then that the client has closed its end.
func isBlocked(a explain.Answer) bool {
	return slices.ContainsFunc(a.Findings, func(f why.Finding) bool { return f.Shape == why.ServerNotReading || f.Shape == why.NeitherReads })
}

var (
	anyDuration = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ns|µs|ms|s)\b|\b\d+m\d+s`)
	anyEvent    = regexp.MustCompile(`#\d+`)
	anySize     = regexp.MustCompile(`\d+ (of its \d+ )?bytes`)
	anyProcess  = regexp.MustCompile(`\(stuckserver, \d+\)`)
	anyCount    = regexp.MustCompile(`since the request: \d+`)
	// Only Linux tells these, and some only after a while.
	onLinux = regexp.MustCompile(` Its process \([^)]*\)[^.]*\.| It has read all that was sent to it\.| It stopped in the middle of [^.]*\.| The first that it has not read is #N\.`)
)

// saidOf returns the findings of an answer without durations and numbers.
func saidOf(a explain.Answer) string {
	var b strings.Builder
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "  %s, %s\n  %s\n", f.Shape, f.Culprit, f.Text)
	}
	head := "stuck\n"
	if len(a.Findings) == 0 {
		head = "nothing is stuck\n"
	}
	for _, open := range a.Open {
		fmt.Fprintf(&b, "  open: %s\n", open)
	}
	text := anyDuration.ReplaceAllString(head+b.String(), "T")
	text = anySize.ReplaceAllString(anyEvent.ReplaceAllString(text, "#N"), "N bytes")
	text = anyCount.ReplaceAllString(text, "since the request: N")
	text = anyProcess.ReplaceAllString(text, "(stuckserver)")
	return onLinux.ReplaceAllString(text, "")
}
