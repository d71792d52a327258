package view

import (
	"context"
	"sync"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// index is what a fold over a session leaves. It grows in one goroutine.
type index struct {
	source *source
	users  int // requests that use an index of a list, under the server's lock
	end    context.CancelFunc
	ended  chan struct{} // closed when nothing grows any more

	mu       sync.Mutex
	err      error // of the log
	done     bool  // no event comes any more
	rows     []row
	calls    []*call
	open     map[*timeline.Call]*call
	rails    [3][]bool // by direction: which columns are taken
	isHTTP   bool
	findings []check.Finding
	found    map[uint64]bool
	why      why.Fold
	watchers map[chan struct{}]bool
}

// row is an event as the page draws it.
type row struct {
	Seq      uint64 `json:"seq"`
	At       int64  `json:"at"`
	Kind     string `json:"kind"`
	Dir      string `json:"dir"`
	Stream   uint64 `json:"stream"`
	Size     int    `json:"size"`
	Label    string `json:"label"`
	Tone     string `json:"tone"`
	Call     uint64 `json:"call"`
	Late     bool   `json:"late"`
	Messages int    `json:"messages"`
	Open     bool   `json:"open"`

	isFrame bool
}

// call is a request and its answer as a rail.
type call struct {
	Request uint64   `json:"request"`
	End     uint64   `json:"end"`
	Dir     string   `json:"dir"`
	Column  int      `json:"column"`
	How     string   `json:"how"`
	Late    []uint64 `json:"late,omitempty"`
}

func newIndex(of *source) *index {
	return &index{source: of, ended: make(chan struct{}), open: map[*timeline.Call]*call{}, found: map[uint64]bool{}, watchers: map[chan struct{}]bool{}}
}

// openIndex takes over a session and begins to index it.
func openIndex(ctx context.Context, s *session.Session) (*index, error) {
	opened, err := openSource(ctx, s)
	if err != nil {
		return nil, err
	}
	x := newIndex(opened)
	ctx, x.end = context.WithCancel(ctx)
	go func() {
		defer close(x.ended)
		x.grow(ctx)
	}()
	return x, nil
}

// close ends the indexing, waits for its end and closes the session.
func (x *index) close() error {
	x.end()
	<-x.ended
	return x.source.session.Close()
}

// grow folds the session until its end, or until ctx is done.
func (x *index) grow(ctx context.Context) {
	transcript := timeline.NewTranscript(func(e timeline.Entry) error { x.note(e); return nil })
	fold := check.New(check.Gate{}, func(f check.Finding) {
		x.findings = append(x.findings, f)
		for _, seq := range f.Events[:min(1, len(f.Events))] {
			x.found[seq] = true
		}
	})
	err := session.Each(x.source.read(ctx, 1, true), func(e store.Event) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		if err := transcript.Apply(e); err != nil {
			return err
		}
		if err := x.why.Apply(e); err != nil {
			return err
		}
		err := fold.Apply(e)
		x.tell()
		return err
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	fold.Close(0)
	x.err = err
	x.done = true
	x.tell()
}

// tell wakes those who wait for the index to grow.
func (x *index) tell() {
	for c := range x.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// watch returns a channel that gets a value after the index has grown, and the end of that.
func (x *index) watch() (grown <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.watchers[c] = true
	return c, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.watchers, c)
	}
}

// note takes an entry into the index.
func (x *index) note(e timeline.Entry) {
	r := row{Seq: e.Seq, At: int64(e.At), Kind: string(e.Kind), Stream: e.Stream, Size: e.Size, Label: e.Summary(), Messages: len(e.Messages), Open: e.Open,
		isFrame: e.Kind == store.Frame, Tone: map[timeline.Tone]string{timeline.Beside: "beside", timeline.Fault: "fault"}[e.Tone()]}
	if e.Dir != transport.NoDirection {
		r.Dir = e.Dir.String()
	}
	x.isHTTP = x.isHTTP || e.Stream > 0
	switch {
	case e.Kind != store.Frame:
	case e.Noise:
		r.Kind = "noise"
	case e.Batch:
		r.Kind = "batch"
	case len(e.Messages) == 1:
		r.Kind = e.Messages[0].Kind.String()
	default:
		r.Kind = "invalid"
	}
	for i, m := range e.Messages {
		r.Late = r.Late || m.Late
		if m.Call != nil && i == 0 {
			r.Call = m.Call.Request
		}
		x.follow(e, m)
	}
	x.rows = append(x.rows, r)
}

// follow keeps the calls.
func (x *index) follow(e timeline.Entry, m timeline.EntryMessage) {
	known := x.open[m.Call]
	switch {
	case m.Call == nil:
	case m.Kind == transport.Request:
		columns := &x.rails[e.Dir]
		column := 0
		for column < len(*columns) && (*columns)[column] {
			column++
		}
		if column == len(*columns) {
			*columns = append(*columns, false)
		}
		(*columns)[column] = true
		c := &call{Request: e.Seq, Dir: e.Dir.String(), Column: column, How: "open"}
		x.open[m.Call] = c
		x.calls = append(x.calls, c)
	case known == nil:
	case m.Late:
		known.Late = append(known.Late, e.Seq)
	case m.Kind == transport.Response && m.Request != 0 && known.End == 0:
		known.End, known.How = e.Seq, "answered"
		if m.Failure != "" {
			known.How = "failed"
		}
		x.rails[m.Call.Dir][known.Column] = false
	}
}
