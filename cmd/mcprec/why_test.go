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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// TestWhy runs testdata/why/*.txtar: real process pairs that hang, or do not, and what why
// says of them while they do and after each of three ends. See the README there.
func TestWhy(t *testing.T) {
	t.Parallel()
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
	ended := make(chan *cli.Status)
	go func() {
		s := run(t.Context(), []string{"why", "--store", home, "--watch", "seed"}, cli.Streams{Out: out, Err: said})
		said.Close()
		ended <- s
	}()
	line, err := bufio.NewReader(errs).ReadString('\n')
	if err != nil || !strings.Contains(line, "the label seed in ") || !strings.HasSuffix(line, "; waiting for one\n") {
		t.Fatalf("%q, %v", line, err)
	}
	imported := run(t.Context(), []string{"import", "--store", home, "../../fixtures/seed.jsonl"}, cli.Streams{Out: os.Stderr, Err: os.Stderr})
	if imported.Code != cli.ExitFine {
		t.Fatalf("import: %v", imported)
	}
	status := <-ended
	text, err := os.ReadFile(out.Name())
	if err != nil || status.Code != cli.ExitFine || !strings.Contains(string(text), "(seed): nothing is stuck") {
		t.Fatalf("%v, %v: %s", status, err, text)
	}
}

// playClock is the time of a play, in a file that its processes share. It goes on by a microsecond
// whenever it is read, so that no two events come at once, and otherwise when it is moved.
type playClock struct{ nanoseconds *atomic.Int64 }

// playClockVariable names the file of the clock to the processes of a play. Only the main
// function of the tests looks at it.
const playClockVariable = "WHY_TEST_CLOCK"

// mapClock opens a clock.
func mapClock(path string) (none playClock, _ error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return none, err
	}
	defer file.Close()
	shared, err := syscall.Mmap(int(file.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return none, fmt.Errorf("map %s: %w", path, err)
	}
	return playClock{(*atomic.Int64)(unsafe.Pointer(&shared[0]))}, nil // mapped as long as the process lasts
}

// newClock makes a clock.
func newClock(path string) (playClock, error) {
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		return playClock{}, err
	}
	clock, err := mapClock(path)
	if err == nil {
		clock.nanoseconds.Store(time.Now().UnixNano())
	}
	return clock, err
}

// clockOfPlay opens the clock that the environment names; found: it names one.
func clockOfPlay() (clock playClock, found bool) {
	path := os.Getenv(playClockVariable)
	if path == "" {
		return clock, false
	}
	clock, err := mapClock(path)
	if err != nil {
		panic(err)
	}
	return clock, true
}

func (c playClock) now() time.Time { return time.Unix(0, c.nanoseconds.Add(int64(time.Microsecond))) }

func (c playClock) move(d time.Duration) { c.nanoseconds.Add(int64(d)) }

// until waits until others have moved the clock to a time.
func (c playClock) until(t time.Time) {
	for c.nanoseconds.Load() < t.UnixNano() {
		time.Sleep(time.Millisecond)
	}
}

// clockedMain is main with the clock of the play, if it is in one.
func clockedMain() {
	clock, found := clockOfPlay()
	if !found {
		main()
		return
	}
	execute(session.WithClock(context.Background(), clock.now))
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
		clock, _ := clockOfPlay()
		serveHTTPPlay(lines, clock, done)
		return
	}
	clock, _ := clockOfPlay()
	e := &stdioEnd{who: '<', in: bufio.NewReader(os.Stdin), out: os.Stdout, clock: clock}
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
	clock playClock
	pause func(line int, what string) // of the client, which alone can pause
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
		e.act(i, l.what)
	}
}

// act does one line.
func (e *stdioEnd) act(line int, what string) {
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
		next := e.clock.now()
		go func() {
			for {
				next = next.Add(pause)
				e.clock.until(next)
				e.say(strings.Replace(frame, "{", `{"jsonrpc":"2.0",`, 1))
			}
		}()
	case "pause", "unread":
		e.pause(line, what)
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
		standStill()
	}
	_, _ = io.Copy(io.Discard, e.in)
}

// serveHTTPPlay is the server of a play over HTTP. It prints its URL.
func serveHTTPPlay(lines []playLine, clock playClock, done func()) {
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
					next := clock.now()
					<-x.acts
					for r.Context().Err() == nil {
						next = next.Add(pause)
						clock.until(next)
						fmt.Fprintf(w, "data: %s\n\n", strings.Replace(frame, "{", `{"jsonrpc":"2.0",`, 1))
						_ = http.NewResponseController(w).Flush()
					}
					return
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
func (s *hungSession) clientHTTPPlay(ctx context.Context, url string, done func()) {
	heard := make(chan struct{}, 1000)
	for i, l := range s.lines {
		switch {
		case l.who == '<' && (strings.HasPrefix(l.what, "stderr ") || l.what == "stop" || strings.HasPrefix(l.what, "every ")):
		case l.who == '<':
			select {
			case <-heard:
			case <-ctx.Done():
				return
			}
		case strings.HasPrefix(l.what, "pause "):
			s.pause(i, l.what)
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
					if stream && line == "\n" {
						s.heard.Add(1)
					}
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

// patience is how long a test waits for what the processes of a play must come to.
const patience = time.Minute

// hungSession is a recorded session of a play while it goes on.
type hungSession struct {
	home     string
	lines    []playLine
	clock    playClock
	recorder *exec.Cmd
	isStdio  bool
	done     [2]<-chan struct{} // the lines of each end
	pid      int                // of the server, once it has done its lines
	close    func()             // closes the client's end
	over     chan struct{}      // the client's goroutine has returned
	beat     time.Duration      // of the frame that the server says every so often; 0: it says none
	heard    atomic.Int64       // frames that the client has read since it had done its lines, over HTTP all
}

// hangCommand is the command of testdata/why: it plays the file "play" between a client and a
// server, asks why while the session stands, and after each way to end it, and compares with
// the file "want".
//
//	hang stdio|http
func hangCommand(ts *testscript.TestScript, neg bool, args []string) {
	want := ts.ReadFile("want")
	var got strings.Builder
	leftOut := "" // half of the plays end by each kind of force; a night tries both with each
	if !storetest.Night() && !*update {
		leftOut = []string{"recorder interrupted", "server killed"}[len(ts.ReadFile("play"))%2]
	}
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
		if end == leftOut {
			got.WriteString(end + ": " + wants(end))
			continue
		}
		dir := ts.MkAbs(strings.ReplaceAll(end, " ", "-"))
		ts.Check(os.MkdirAll(dir, 0o700))
		s := startHung(ts, args[0], dir)
		for _, done := range s.done {
			select {
			case <-done:
			case <-time.After(2 * patience):
				ts.Fatalf("%s: a side of the play does not come to its last line", end)
			}
		}
		if err := s.await(s.lines); err != nil {
			ts.Fatalf("%s: %v", end, err)
		}
		said := s.askStanding(ts, wants("while it stands"))
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
		got.WriteString(end + ": " + s.askEnded(ts, wants(end)))
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
	play, done := ts.MkAbs("play"), filepath.Join(dir, "done")
	s := &hungSession{home: filepath.Join(dir, "home"), lines: readPlay(ts.ReadFile("play")), isStdio: transport == "stdio", over: make(chan struct{})}
	for _, l := range s.lines {
		if word, rest, _ := strings.Cut(l.what, " "); word == "every" {
			every, _, _ := strings.Cut(rest, " ")
			s.beat, _ = time.ParseDuration(every)
		}
	}
	var err error
	s.clock, err = newClock(filepath.Join(dir, "clock"))
	ts.Check(err)
	start := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), playClockVariable+"="+filepath.Join(dir, "clock"))
		return cmd
	}
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
		remote := start("stuckserver", "http", play, done)
		out, err := remote.StdoutPipe()
		ts.Check(err)
		ts.Check(remote.Start())
		target, err := bufio.NewReader(out).ReadString('\n')
		ts.Check(err)
		s.recorder = start("mcprec", "record", "--store", s.home, "--target", strings.TrimSpace(target), "--listen", "127.0.0.1:0")
		urls, err := s.recorder.StdoutPipe()
		ts.Check(err)
		ts.Check(s.recorder.Start())
		url, err := bufio.NewReader(urls).ReadString('\n')
		ts.Check(err)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			defer close(s.over)
			s.clientHTTPPlay(ctx, strings.TrimSpace(url), func() { close(client) })
		}()
		s.close = cancel
		ts.Defer(func() { cancel(); _ = remote.Process.Kill(); _ = remote.Wait() })
		return s
	}
	s.recorder = start("mcprec", "record", "--store", s.home, "--", "stuckserver", "stdio", play, done)
	in, err := s.recorder.StdinPipe()
	ts.Check(err)
	out, err := s.recorder.StdoutPipe()
	ts.Check(err)
	ts.Check(s.recorder.Start())
	end := &stdioEnd{who: '>', in: bufio.NewReader(out), out: in, clock: s.clock, pause: s.pause}
	go func() {
		defer close(s.over)
		end.play(s.lines, func() { close(client) })
		for !end.deaf {
			if _, err := end.in.ReadString('\n'); err != nil {
				return
			}
			s.heard.Add(1)
		}
	}()
	s.close = func() { in.Close(); out.Close() }
	return s
}

// recorded counts what the log has of a session so far, by words such as "c2s frame".
func (s *hungSession) recorded() (counts map[string]int, err error) {
	counts = map[string]int{}
	ctx := context.Background()
	db, err := session.OpenUnmasked(ctx, session.Home{Place: s.home})
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, db)
	for found, err := range db.Sessions(ctx, store.Query{}) {
		if err != nil {
			return nil, err
		}
		for e, err := range db.Read(ctx, found.ID, 1, store.ReadOptions{Unfinished: true}) {
			if err != nil {
				return nil, err
			}
			counts[fmt.Sprint(e.Dir, " ", e.Kind)]++
			counts[openExchanges] += opensExchange(e)
		}
		open, err := db.OpenLines(ctx, found.ID)
		if err != nil {
			return nil, err
		}
		for _, line := range open {
			if line.Frame == 0 {
				counts[fmt.Sprint(line.Dir, " ", store.Frame)]++
			}
		}
	}
	return counts, nil
}

// openExchanges counts the HTTP exchanges among what a log has that have no end.
const openExchanges = "open exchanges"

// opensExchange returns 1 for the begin of an HTTP exchange, and -1 for its end.
func opensExchange(e store.Event) int {
	info, err := store.DecodePayload[store.HTTPInfo](e)
	switch {
	case e.Kind != store.HTTP || err != nil:
		return 0
	case info.What == store.HTTPRequest:
		return 1
	case slices.Contains([]string{store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft}, info.What):
		return -1
	}
	return 0
}

// await waits until the log has what the lines say.
func (s *hungSession) await(lines []playLine) error {
	want := map[string]int{}
	for _, l := range lines {
		dir := transport.ClientToServer
		if l.who == '<' {
			dir = transport.ServerToClient
		}
		word, _, _ := strings.Cut(l.what, " ")
		switch {
		case word == "exit":
			want[fmt.Sprint(transport.NoDirection, " ", store.Exited)]++
			if s.isStdio { // which may be recorded later: the clock must not be moved before
				want[fmt.Sprint(dir, " ", store.EOF)]++
			}
		case word == "stderr" && s.isStdio:
			want[fmt.Sprint(transport.NoDirection, " ", store.Stderr)]++
		case word == "raw" || strings.HasPrefix(l.what, "{"):
			want[fmt.Sprint(dir, " ", store.Frame)]++
		}
		if !s.isStdio && (l.who == '>' || word == "head" || word == "end" || word == "break") {
			want[fmt.Sprint(dir, " ", store.HTTP)]++
		}
	}
	return s.awaitCounts(want)
}

// awaitCounts waits until the log has as many events.
func (s *hungSession) awaitCounts(want map[string]int) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		counts, err := s.recorded()
		isThere := err == nil
		for what, n := range want {
			isThere = isThere && counts[what] >= n
		}
		if isThere {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the log has %v, %v; want %v", counts, err, want)
		}
	}
}

// pause does the line "pause DURATION" or "unread DURATION" of the client: once the log has all
// that the ends say before the client goes on, the clock is moved. After "unread" the log has also
// that the client does not read what waits for it, where the system tells.
func (s *hungSession) pause(line int, what string) {
	word, rest, _ := strings.Cut(what, " ")
	pause, _ := time.ParseDuration(rest)
	var before []playLine
	for i, l := range s.lines {
		if i > line && l.who == '>' {
			if l.isFrame() {
				break
			}
			continue
		}
		before = append(before, l)
	}
	if err := s.await(before); err != nil {
		panic(err)
	}
	s.awaitHeard()
	s.clock.move(pause)
	for word == "unread" && runtime.GOOS == "linux" {
		counts, err := s.recorded()
		if err != nil {
			panic(err)
		}
		if counts[fmt.Sprint(transport.ServerToClient, " ", store.Stalled)] > 0 {
			return
		}
		s.clock.move(pause)
		time.Sleep(time.Millisecond)
	}
}

// awaitHeard waits until a server that reads has read all that was sent to it, where the system tells: else time that
// passes is time in which it did not read.
func (s *hungSession) awaitHeard() {
	reads := !slices.ContainsFunc(s.lines, func(l playLine) bool {
		return l.who == '<' && slices.Contains([]string{"deaf", "stays", "stop", "hear", "exit"}, strings.Fields(l.what + " .")[0])
	})
	if !s.isStdio || !reads || runtime.GOOS != "linux" {
		return
	}
	for deadline := time.Now().Add(patience); s.unheard() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			panic("the server does not read what was sent to it")
		}
	}
}

// unheard returns how many bytes lie in the pipe to the server; 0 where that is not known.
func (s *hungSession) unheard() int {
	db, err := session.OpenUnmasked(context.Background(), session.Home{Place: s.home})
	if err != nil {
		return 0
	}
	defer db.Close()
	for found, err := range db.Sessions(context.Background(), store.Query{}) {
		if err != nil || found.Header.Processes == nil {
			return 0
		}
		pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", found.Header.Processes.Server.PID), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return 0
		}
		defer pipe.Close()
		const inQueue = 0x541b // TIOCINQ, which only Linux has
		n, _ := unix.IoctlGetInt(int(pipe.Fd()), inQueue)
		return n
	}
	return 0
}

// pass lets time pass. A server that says something at each beat says it meanwhile.
func (s *hungSession) pass(ts *testscript.TestScript, d time.Duration) {
	if s.beat == 0 {
		s.clock.move(d)
		return
	}
	deadline := time.Now().Add(patience)
	for ; d > 0; d -= s.beat {
		before := s.heard.Load()
		s.clock.move(s.beat)
		for s.heard.Load() == before {
			if time.Now().After(deadline) {
				ts.Fatalf("the server says nothing every %v", s.beat)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// askStanding asks why until the session has stood twice as long as what is stuck, and why says
// what is wanted, or for long, and returns what it says. The time goes on until then: the recorder
// sees at its next look that an end does not read, and says so when some time has passed.
func (s *hungSession) askStanding(ts *testscript.TestScript, want string) string {
	const stands, step = 2 * why.Patience, why.Patience / 2
	var passed time.Duration
	return s.ask(ts, want, func(a report.Hangs) (settled bool) {
		if a.State == "" {
			return true
		}
		if passed < stands || !*update && saidOf(a) != want {
			s.pass(ts, step)
			passed += step
			return false
		}
		return true
	})
}

// askEnded asks why until it says what is wanted, or for long, and returns what it says: on pipes
// once the log has the end, unless the recorder cannot come to it. Over HTTP the session may go on:
// once the log has the end of every exchange, time passes, for an exchange that breaks off counts
// as stuck only after a while.
func (s *hungSession) askEnded(ts *testscript.TestScript, want string) string {
	hasPassed := false
	return s.ask(ts, want, func(a report.Hangs) (settled bool) {
		if s.isStdio {
			return a.Ended != "" || isBlocked(a)
		}
		if a.State != store.Live || hasPassed || !*update && saidOf(a) == want {
			return true
		}
		counts, err := s.recorded()
		ts.Check(err)
		if counts[openExchanges] == 0 {
			hasPassed = true
			s.clock.move(2 * why.Patience)
			return false
		}
		return true
	})
}

// ask asks why until the answer is settled, and is what is wanted, or for long, and returns what
// it says: a line a finding, with shape, culprit and text.
func (s *hungSession) ask(ts *testscript.TestScript, want string, isSettled func(report.Hangs) bool) string {
	before, same := "", 0
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		root := newRoot(cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}) // not a process: there are thousands of questions
		var out bytes.Buffer
		root.SetArgs([]string{"why", "--store", s.home, "--format", "json", "--all"})
		root.SetOut(&out)
		root.SetErr(&out)
		status := cli.StatusOf(root.ExecuteContext(session.WithClock(context.Background(), s.clock.now)))
		var a report.Hangs
		if err := json.Unmarshal(out.Bytes(), &a); err != nil || a.Stuck() != (status.Code == cli.ExitVerdict) {
			ts.Fatalf("why: %v, %v: %s", err, status, out.Bytes())
		}
		said := saidOf(a)
		isSettled := isSettled(a)
		if same++; said != before || !isSettled {
			before, same = said, 0
		}
		if isSettled && (said == want && !*update || *update && same > 100) || time.Now().After(deadline) {
			return said
		}
	}
}

// isBlocked reports whether the recorder of a session stands in a write to the server: it does
// not read then that the client has closed its end.
func isBlocked(a report.Hangs) bool {
	return slices.ContainsFunc(a.Findings, func(f why.Finding) bool { return f.Shape == why.ServerNotReading || f.Shape == why.NeitherReads })
}

var (
	anyDuration = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ns|µs|ms|s)\b|\b\d+m\d+s`)
	anyEvent    = regexp.MustCompile(`#\d+`)
	anySize     = regexp.MustCompile(`\d+ (of its \d+ )?bytes`)
	anyProcess  = regexp.MustCompile(`\(stuckserver, \d+\)`)
	anyCount    = regexp.MustCompile(`since the request: \d+`)
	// Only Linux tells these, and some only after a while.
	onLinux = regexp.MustCompile(` Its process \([^)]*\)[^.]*\.( (All its \d+ threads sleep|Its only thread sleeps)[^.]*\.)?| All that was sent to it has been read\.| It stopped in the middle of [^.]*\.| The first that it has not read is #N\.`)
)

// saidOf returns the findings of an answer without durations and numbers.
func saidOf(a report.Hangs) string {
	var b strings.Builder
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "  %s, %s\n  %s\n", f.Shape, f.Culprit, f.Text)
	}
	head := "stuck\n"
	if len(a.Findings) == 0 {
		head = "nothing is stuck\n"
	}
	for _, note := range a.Notes() {
		fmt.Fprintf(&b, "  open: %s\n", note)
	}
	text := anyDuration.ReplaceAllString(head+b.String(), "T")
	text = anySize.ReplaceAllString(anyEvent.ReplaceAllString(text, "#N"), "N bytes")
	text = anyCount.ReplaceAllString(text, "since the request: N")
	text = anyProcess.ReplaceAllString(text, "(stuckserver)")
	return onLinux.ReplaceAllString(text, "")
}
