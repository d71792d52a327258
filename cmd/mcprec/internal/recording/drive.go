package recording

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

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/leftover"
	"github.com/mcprec/mcprec/transport/phrase"
)

// DriveOptions are the options of a drive, and of its recording.
type DriveOptions struct {
	standin.DriveOptions
	Record   bool   // return the events of the drive
	Recorder string // the name and version in the header
}

// Drive is the result of a drive.
type Drive struct {
	End    standin.DriveEnd
	Exit   string // the server's status; "" over HTTP
	Fault  string // how a complete drive ended otherwise than the recorded session
	Stderr []string
	Took   time.Duration
	Asides []match.StepVerdict
	Events []store.Event // of a complete drive with Record
}

// DriveCommand starts the server, plays the driver to it, and ends it. The recording stays in memory,
// because a drive that breaks off must leave nothing behind.
func DriveCommand(ctx context.Context, r *session.Recording, driver *standin.Driver, command []string, o DriveOptions) (*Drive, error) {
	words := new(lastLines)
	log := memstore.New()
	leftover.Sweep()
	at, err := leftover.Begin()
	if err != nil {
		return nil, err
	}
	defer at.End()                                                                                      // and what the server has started
	server := transport.Command{Args: command, Env: at.Environ(), Stderr: words, Patience: time.Second} // Drive has waited already
	var rec *recorder.Recorder
	var stderr *observer
	if o.Record {
		h := store.Header{Transport: "stdio", Label: r.Header.Label, Expect: r.Header.Expect, Command: command, Recorder: o.Recorder}
		if rec, err = recorder.New(ctx, log, h); err != nil {
			return nil, err
		}
		stderr = &observer{tap: rec.StderrTap()}
		server.Stderr = io.MultiWriter(words, stderr)
	}
	process, err := server.Start()
	if err != nil {
		return nil, err
	}
	var conn transport.Conn = process
	if o.Record {
		conn = rec.Conn(process, transport.ClientToServer)
	}
	run := &Drive{}
	start := time.Now()
	run.End, err = standin.Drive(ctx, conn, driver, o.DriveOptions)
	if err != nil {
		return nil, err
	}
	run.Took, run.Stderr = time.Since(start), words.lines()
	status, err := process.Status()
	if err != nil {
		return nil, err
	}
	exit := store.ExitInfoOf(status)
	run.Exit = exit.String()
	if run.End == standin.Complete {
		run.Fault = standin.ExitFault(r.Events, status)
	}
	if o.Record {
		if lost := stderr.lost(); lost > 0 {
			reason := fmt.Sprintf("of a drive the first %d MiB of standard error are recorded", mostStderr>>20)
			rec.Record(store.Lost, transport.NoDirection, store.LostInfo{Bytes: lost, Reason: reason, Streams: []string{"stderr"}})
		}
		rec.Record(store.Exited, transport.NoDirection, exit)
		if sum := rec.Close(); sum.Lost > 0 {
			return nil, fmt.Errorf("record the drive: %s lost: %w", phrase.Plural(sum.Lost, "event"), sum.Err)
		}
		run.Events, err = session.Collect(log.Read(ctx, rec.ID(), 1, store.ReadOptions{}))
	}
	return run, err
}

// mostStderr is how many bytes of a server's standard error are recorded: a recording is in memory, and a server may
// write as long as the drive lasts.
const mostStderr = 16 << 20

// observer is a tap of standard error as a writer. It records the first mostStderr bytes.
type observer struct {
	tap     *recorder.Tap
	mu      sync.Mutex // a child of the server may go on writing
	written uint64
}

func (o *observer) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if room := mostStderr - min(o.written, mostStderr); room > 0 {
		o.tap.Observe(data[:min(uint64(len(data)), room)])
	}
	o.written += uint64(len(data))
	return len(data), nil
}

// lost returns how many bytes are not recorded.
func (o *observer) lost() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written - min(o.written, mostStderr)
}

// lastLines keeps the last lines of its input, in bounded memory.
type lastLines struct {
	mu   sync.Mutex // a child of the server may go on writing
	list [][]byte
	open bool // the last line has no end yet
}

const (
	keptLines = 20
	keptBytes = 500 // of a line
)

func (l *lastLines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(data)
	for len(data) > 0 {
		piece, rest, ended := bytes.Cut(data, []byte("\n"))
		if !l.open {
			if len(l.list) == keptLines {
				l.list = append(l.list[:0], l.list[1:]...)
			}
			l.list = append(l.list, nil)
		}
		last := &l.list[len(l.list)-1]
		*last = append(*last, piece[:min(len(piece), keptBytes-len(*last))]...)
		l.open = !ended
		data = rest
	}
	return n, nil
}

// lines returns the lines, plain.
func (l *lastLines) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]string, len(l.list))
	for i, line := range l.list {
		list[i] = output.Plain(string(bytes.ToValidUTF8(bytes.TrimSuffix(line, []byte("\r")), []byte("�"))))
	}
	return list
}

// DriveTarget are the flags of drive for a server over HTTP.
type DriveTarget struct {
	URL     string
	Headers []string
}

// Check refuses contradictory flags.
func (t *DriveTarget) Check(command []string) error {
	switch {
	case t.URL == "" && len(t.Headers) > 0:
		return cli.Usagef("--header is for --target; give both")
	case t.URL != "" && len(command) > 0:
		return cli.Usagef("drive: a COMMAND and --target; give one of them")
	case t.URL != "" && !strings.HasPrefix(t.URL, "http://") && !strings.HasPrefix(t.URL, "https://"):
		return cli.Usagef("--target %s: want a URL such as http://localhost:3000/mcp", t.URL)
	}
	return nil
}

// Header returns the headers of every request.
func (t *DriveTarget) Header() (http.Header, error) {
	h := http.Header{}
	for _, line := range t.Headers {
		name, value, found := strings.Cut(line, ":")
		if !found || strings.TrimSpace(name) == "" {
			return nil, cli.Usagef("--header %q: want 'NAME: VALUE'", line)
		}
		h.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return h, nil
}

// Drive plays the driver to the server at the URL. With record it records what the client says
// and hears, in memory.
func (t *DriveTarget) Drive(ctx context.Context, r *session.Recording, driver *standin.Driver, options DriveOptions) (run *Drive, err error) {
	client := standin.Dial(r.Events, t.URL)
	if client.Header, err = t.Header(); err != nil {
		return nil, err
	}
	log := memstore.New()
	var rec *recorder.Recorder
	var tap *httptap.Tap
	var fault error // of the recording
	if options.Record {
		u, err := url.Parse(t.URL)
		if err != nil {
			return nil, err
		}
		tap = httptap.New(httptap.Options{
			Open: func(header store.Header) *recorder.Recorder {
				if rec, fault = recorder.New(ctx, log, header); fault != nil {
					rec = recorder.Unrecorded(fault)
				}
				return rec
			},
			Path: u.Path, Together: true,
			Header: store.Header{Label: r.Header.Label, Expect: r.Header.Expect, URL: t.URL, Recorder: options.Recorder},
		})
		defer tap.Close()
		client.Client = &http.Client{Transport: tap.RoundTripper(http.DefaultTransport.(*http.Transport).Clone()),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	conn, err := standin.DialRaw(ctx, client, r.Events)
	if err != nil {
		return nil, err
	}
	options.HangUp = conn.HangUp
	start := time.Now()
	run = &Drive{}
	run.End, err = standin.Drive(ctx, conn, driver, options.DriveOptions)
	if err != nil {
		return nil, err
	}
	run.Took, run.Asides = time.Since(start), conn.RawVerdicts()
	if !options.Record || run.End != standin.Complete {
		return run, nil
	}
	tap.Close()
	switch {
	case fault != nil:
		return nil, fmt.Errorf("record the drive: %w", fault)
	case rec == nil:
		return nil, fmt.Errorf("record the drive: the server was asked nothing")
	}
	run.Events, err = session.Collect(log.Read(ctx, rec.ID(), 1, store.ReadOptions{}))
	return run, err
}
