package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mcprec/mcprec/transport/mcp"
)

// livePause is the least time between two events of a stream about a session that grows.
const livePause = 250 * time.Millisecond

// eventStream is a stream of server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	id      uint64
	latest  time.Time
	err     error // of the first write that failed
}

// newEventStream begins a stream.
func newEventStream(w http.ResponseWriter) *eventStream {
	w.Header().Set("Content-Type", mcp.MediaEventStream)
	return &eventStream{w: w, control: http.NewResponseController(w)}
}

// send writes an event, unless an earlier one could not be written.
func (x *eventStream) send(name string, value any) {
	text, err := json.Marshal(value)
	if err == nil && x.err == nil {
		_, err = fmt.Fprintf(x.w, "event: %s\nid: %d\ndata: %s\n\n", name, x.id, text)
	}
	if err == nil && x.err == nil {
		err = x.control.Flush()
	}
	if x.err == nil {
		x.err = err
	}
	x.latest = time.Now()
}

// isDue reports whether the latest event is old enough for another of its kind.
func (x *eventStream) isDue() bool { return time.Since(x.latest) >= livePause }

// live tells a page, while it reads, how the session grows.
func (x shown) live(w http.ResponseWriter, r *http.Request, i *index) error {
	grown, end := i.growth.watch()
	defer end()
	out := newEventStream(w)
	for out.err == nil {
		_, done := i.progress()
		head, err := x.describe(r.Context(), i)
		if err != nil {
			return err
		}
		out.id = head.Indexed
		out.send("head", head)
		if done {
			out.send("end", struct{}{})
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-time.After(livePause):
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-grown:
		}
	}
	return nil
}

// growth wakes those who wait for an index to grow. The zero growth is ready.
type growth struct {
	mu       sync.Mutex
	watchers map[chan struct{}]bool
}

// tell wakes those who wait.
func (x *growth) tell() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for c := range x.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// watch returns a channel that gets a value after the index has grown, and the end of that.
func (x *growth) watch() (grown <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.watchers == nil {
		x.watchers = map[chan struct{}]bool{}
	}
	x.watchers[c] = true
	return c, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.watchers, c)
	}
}
