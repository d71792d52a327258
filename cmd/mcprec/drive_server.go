package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
)

// driven is the result of a drive.
type driven struct {
	end    standin.DriveEnd
	exit   string // the server's status; "" over HTTP
	fault  string // how a complete drive ended otherwise than the recorded session
	stderr []string
	took   time.Duration
	asides []match.StepVerdict
	events []store.Event // what passed, of a drive with --update that came to its end
}

// driveCommand starts the server, plays the driver to it, and ends it. With record it records
// what passes, in memory: a drive that breaks off leaves nothing behind.
func driveCommand(ctx context.Context, r *recordedSession, d *standin.Driver, command []string, o standin.DriveOptions, record bool) (*driven, error) {
	words, log := new(lastLines), memstore.New()
	server := transport.Command{Args: command, Stderr: words, Patience: time.Second} // Drive has waited already
	var rec *recorder.Recorder
	var err error
	if record {
		h := store.Header{Transport: "stdio", Label: r.header.Label, Expect: r.header.Expect, Command: command, Recorder: "mcprec " + version()}
		if rec, err = recorder.New(ctx, log, h); err != nil {
			return nil, err
		}
		server.Stderr = io.MultiWriter(words, observer{rec.StderrTap()})
	}
	process, err := server.Start()
	if err != nil {
		return nil, err
	}
	var conn transport.Conn = process
	if record {
		conn = rec.Conn(process, transport.ClientToServer)
	}
	run := &driven{}
	start := time.Now()
	if run.end, err = standin.Drive(ctx, conn, d, o); err != nil {
		return nil, err
	}
	run.took, run.stderr = time.Since(start), words.lines()
	status, err := process.Status()
	if err != nil {
		return nil, err
	}
	exit := store.ExitInfoOf(status)
	run.exit = exit.String()
	if run.end == standin.Complete {
		run.fault = standin.ExitFault(r.events, status)
	}
	if record {
		rec.Record(store.Exited, transport.NoDirection, exit)
		if sum := rec.Close(); sum.Lost > 0 {
			return nil, fmt.Errorf("record the drive: %s lost: %w", phrase.Plural(sum.Lost, "event"), sum.Err)
		}
		run.events, err = session.Collect(log.Read(ctx, rec.ID(), 1, store.ReadOptions{}))
	}
	return run, err
}

// observer is a tap as a writer.
type observer struct{ tap *recorder.Tap }

func (o observer) Write(b []byte) (int, error) {
	o.tap.Observe(b)
	return len(b), nil
}

// lastLines keeps the last lines that were written to it, in bounded memory.
type lastLines struct {
	mu   sync.Mutex // a process that the server started may go on writing
	list [][]byte
	open bool // the last line has no end yet
}

const (
	keptLines = 20
	keptBytes = 500 // of a line
)

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

// lines returns the lines, plain.
func (l *lastLines) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]string, len(l.list))
	for i, line := range l.list {
		list[i] = terminal.Plain(string(bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte("\r")), []byte("�"))))
	}
	return list
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

func (t *driveTarget) check(command []string) error {
	switch {
	case t.url == "" && len(t.headers) > 0:
		return exit.Usagef("--header is for --target; give both")
	case t.url != "" && len(command) > 0:
		return exit.Usagef("drive: a COMMAND and --target; give one of them")
	case t.url != "" && !strings.HasPrefix(t.url, "http://") && !strings.HasPrefix(t.url, "https://"):
		return exit.Usagef("--target %s: want a URL such as http://localhost:3000/mcp", t.url)
	}
	return nil
}

func (t *driveTarget) header() (http.Header, error) {
	h := http.Header{}
	for _, line := range t.headers {
		name, value, found := strings.Cut(line, ":")
		if !found || strings.TrimSpace(name) == "" {
			return nil, exit.Usagef("--header %q: want 'NAME: VALUE'", line)
		}
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return h, nil
}

// drive plays the driver to the server at the URL. With record it records what the client says
// and hears, in memory.
func (t *driveTarget) drive(ctx context.Context, r *recordedSession, d *standin.Driver, o standin.DriveOptions, record bool) (run *driven, err error) {
	client := standin.Dial(r.events, t.url)
	if client.Header, err = t.header(); err != nil {
		return nil, err
	}
	log := memstore.New()
	var rec *recorder.Recorder
	var tap *httptap.Tap
	var fault error // of the recording
	if record {
		u, err := url.Parse(t.url)
		if err != nil {
			return nil, err
		}
		tap = httptap.New(httptap.Options{
			Open: func(h store.Header) *recorder.Recorder {
				if rec, fault = recorder.New(ctx, log, h); fault != nil {
					rec = recorder.Unrecorded(fault)
				}
				return rec
			},
			Path: u.Path, Together: true,
			Header: store.Header{Label: r.header.Label, Expect: r.header.Expect, URL: t.url, Recorder: "mcprec " + version()},
		})
		defer tap.Close()
		client.Client = &http.Client{Transport: tap.RoundTripper(http.DefaultTransport.(*http.Transport).Clone()),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	conn, err := standin.DialRaw(ctx, client, r.events)
	if err != nil {
		return nil, err
	}
	o.HangUp = conn.HangUp
	start := time.Now()
	run = &driven{}
	if run.end, err = standin.Drive(ctx, conn, d, o); err != nil {
		return nil, err
	}
	run.took, run.asides = time.Since(start), conn.RawVerdicts()
	if !record || run.end != standin.Complete {
		return run, nil
	}
	tap.Close()
	switch {
	case fault != nil:
		return nil, fmt.Errorf("record the drive: %w", fault)
	case rec == nil:
		return nil, fmt.Errorf("record the drive: the server was asked nothing")
	}
	run.events, err = session.Collect(log.Read(ctx, rec.ID(), 1, store.ReadOptions{}))
	return run, err
}
