package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// driven is a server that was driven to an end.
type driven struct {
	end    standin.DriveEnd
	remote bool // it was not ours to start and to end
	exit   store.ExitInfo
	fault  string // how it ended otherwise than the recorded one, when all was said
	stderr []string
	took   time.Duration
	kept   *keptRun // nil: nobody wants it
	asides []match.StepVerdict
}

// keptRun is the recording of a drive. It is in memory, for there is nothing to
// keep of one that breaks off.
type keptRun struct {
	*recorder.Recorder
	log *memstore.Store
}

func keepRun(ctx context.Context, recorded store.Header, command []string) (*keptRun, error) {
	log := memstore.New()
	h := store.Header{
		Transport: "stdio", Label: recorded.Label, Expect: recorded.Expect,
		Command: command, Recorder: "mcprec " + version(),
	}
	rec, err := recorder.New(ctx, log, h)
	return &keptRun{rec, log}, err
}

// events returns what was recorded.
func (k *keptRun) events(ctx context.Context) ([]store.Event, error) {
	return collect(k.log.Read(ctx, k.ID(), 1, store.ReadOptions{}))
}

// heardServer reports whether the live server said anything. A run without that is no
// recording to keep; one that cannot be read says so when it is written.
func (k *keptRun) heardServer(ctx context.Context) bool {
	events, err := k.events(ctx)
	return err != nil || slices.ContainsFunc(events, func(e store.Event) bool {
		return e.Kind == store.Frame && e.Dir == transport.ServerToClient
	})
}

// driveServer starts the command, plays the driver to it, and ends it.
func driveServer(ctx context.Context, recorded []store.Event, d *standin.Driver, command []string, o standin.DriveOptions, kept *keptRun) (*driven, error) {
	words := new(lastLines)
	server := transport.Command{Args: command, Stderr: words, Patience: time.Second} // Drive has waited already
	if kept != nil {
		server.Stderr = io.MultiWriter(words, observer{kept.StderrTap()})
	}
	process, err := server.Start()
	if err != nil {
		return nil, err
	}
	var conn transport.Conn = process
	if kept != nil {
		conn = kept.Conn(process, transport.ClientToServer)
	}
	run := &driven{kept: kept}
	start := time.Now()
	if run.end, err = standin.Drive(ctx, conn, d, o); err != nil {
		return nil, err
	}
	run.took, run.stderr = time.Since(start), words.lines()
	status, err := process.Status()
	if err != nil {
		return nil, err
	}
	run.exit = store.ExitInfoOf(status)
	if run.end == standin.Complete {
		run.fault = standin.ExitFault(recorded, status)
	}
	if kept == nil {
		return run, nil
	}
	kept.Record(store.Exited, transport.NoDirection, run.exit)
	if sum := kept.Close(); sum.Lost > 0 {
		return nil, fmt.Errorf("record the drive: %s lost: %w", phrase.Plural(sum.Lost, "event"), sum.Err)
	}
	return run, nil
}

// observer is a tap as a writer.
type observer struct{ tap *recorder.Tap }

func (o observer) Write(b []byte) (int, error) {
	o.tap.Observe(b)
	return len(b), nil
}

// lastLines keeps the last few lines that were written to it, in bounded memory
// however much and however long they are.
type lastLines struct {
	mu   sync.Mutex // a grandchild may go on writing
	list [][]byte
	open bool // the last one has no end yet
}

const (
	keptLines = 20
	keptBytes = 500 // of a line
)

// Write implements io.Writer.
func (l *lastLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		piece, rest, ended := bytes.Cut(b, []byte("\n"))
		if !l.open {
			if len(l.list) == keptLines {
				l.list = append(l.list[:0], l.list[1:]...)
			}
			l.list = append(l.list, nil)
		}
		last := &l.list[len(l.list)-1]
		*last = append(*last, piece[:min(len(piece), keptBytes-len(*last))]...)
		l.open, b = !ended, rest
	}
	return n, nil
}

// lines returns what was kept, fit for a terminal.
func (l *lastLines) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]string, len(l.list))
	for i, line := range l.list {
		list[i] = plain(string(bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte("\r")), []byte("�"))))
	}
	return list
}

// keptExchanges is the recording of a drive over HTTP, in memory as a [keptRun].
type keptExchanges struct {
	tap *httptap.Tap
	run keptRun
	err error
}

// keepExchanges records what the client says and hears.
func keepExchanges(ctx context.Context, client *streamable.Client, recorded store.Header) (*keptExchanges, error) {
	u, err := url.Parse(client.URL)
	if err != nil {
		return nil, err
	}
	k := &keptExchanges{run: keptRun{log: memstore.New()}}
	k.tap = httptap.New(httptap.Options{
		Open: func(h store.Header) *recorder.Recorder {
			if k.run.Recorder, k.err = recorder.New(ctx, k.run.log, h); k.err != nil {
				k.run.Recorder = recorder.Unrecorded(k.err)
			}
			return k.run.Recorder
		},
		Path: u.Path, Together: true,
		Header: store.Header{Label: recorded.Label, Expect: recorded.Expect, URL: client.URL, Recorder: "mcprec " + version()},
	})
	client.Client = &http.Client{Transport: k.tap.RoundTripper(http.DefaultTransport.(*http.Transport).Clone()),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return k, nil
}

// end returns the recording of the drive, which is over.
func (k *keptExchanges) end() (*keptRun, error) {
	k.tap.Close()
	switch {
	case k.err != nil:
		return nil, fmt.Errorf("record the drive: %w", k.err)
	case k.run.Recorder == nil:
		return nil, fmt.Errorf("record the drive: the server was asked nothing")
	}
	return &k.run, nil
}

// driveTarget are the flags of drive for a server that is reached over HTTP.
type driveTarget struct {
	url     string
	headers []string
}

const driveTargetHelp = `With --target the server is reached over HTTP, as the recorded client reached it: by
Streamable HTTP or HTTP+SSE, with the standalone stream if that client asked for it.
A session recorded on stdio is driven over Streamable HTTP. A status that is no
success is an error, unless it was recorded for the same request; redirects are not
followed. What the recorded server refused for how it was asked (without the session's
id, say) is asked in the same way; of a request without a message that it refused so, a
PUT, say, the status is a step.

`

func (t *driveTarget) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.url, "target", "", "drive the HTTP server whose MCP endpoint is `URL`, in place of COMMAND")
	f.StringArrayVar(&t.headers, "header", nil, "with --target: send `'NAME: VALUE'` with every request; may be repeated")
}

// check refuses what does not go together.
func (t *driveTarget) check(command []string) error {
	switch {
	case t.url == "" && len(t.headers) > 0:
		return usagef("--header is for --target; give both")
	case t.url != "" && len(command) > 0:
		return usagef("drive: a COMMAND and --target; give one of them")
	case t.url != "" && !strings.HasPrefix(t.url, "http://") && !strings.HasPrefix(t.url, "https://"):
		return usagef("--target %s: want a URL such as http://localhost:3000/mcp", t.url)
	}
	return nil
}

// header returns what goes with every request.
func (t *driveTarget) header() (http.Header, error) {
	h := http.Header{}
	for _, line := range t.headers {
		name, value, found := strings.Cut(line, ":")
		if !found || strings.TrimSpace(name) == "" {
			return nil, usagef("--header %q: want 'NAME: VALUE'", line)
		}
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return h, nil
}

// drive plays the driver to the server at the URL; keep: and records it.
func (t *driveTarget) drive(ctx context.Context, r *recordedSession, d *standin.Driver, o standin.DriveOptions, keep bool) (run *driven, err error) {
	client := standin.Dial(r.events, t.url)
	if client.Header, err = t.header(); err != nil {
		return nil, err
	}
	var kept *keptExchanges
	if keep {
		if kept, err = keepExchanges(ctx, &client, r.header); err != nil {
			return nil, err
		}
		defer kept.tap.Close()
	}
	asides, err := standin.DialAside(ctx, client, r.events)
	if err != nil {
		return nil, err
	}
	o.HangUp = asides.HangUp
	start := time.Now()
	run = &driven{remote: true}
	if run.end, err = standin.Drive(ctx, asides, d, o); err != nil {
		return nil, err
	}
	run.took, run.asides = time.Since(start), asides.Asides()
	if keep && run.end == standin.Complete {
		run.kept, err = kept.end()
	}
	return run, err
}
