package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mcprec/mcprec/transport/mcp"
)

// livePause is the least time between two events of a stream about a session that grows.
const livePause = 250 * time.Millisecond

// events is a stream of server-sent events.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	id      uint64
	latest  time.Time
	err     error // of the first write that failed
}

// newEvents begins a stream.
func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", mcp.MediaEventStream)
	return &events{w: w, control: http.NewResponseController(w)}
}

// send writes an event, unless an earlier one could not be written.
func (x *events) send(name string, value any) {
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

// mayHurry reports whether the latest event is old enough for another of its kind.
func (x *events) mayHurry() bool { return time.Since(x.latest) >= livePause }

// live tells a page, while it reads, how the session grows, and what it waits for.
func (x *Server) live(w http.ResponseWriter, r *http.Request, i *index) error {
	grown, end := i.watch()
	defer end()
	out := newEvents(w)
	told := ""
	for out.err == nil {
		indexed, done := i.progress()
		out.id = indexed
		head, err := x.session(r.Context(), i)
		if err != nil {
			return err
		}
		out.send("head", head)
		answer, err := x.why(i, r)
		if err != nil {
			return err
		}
		if now := answer.(whyAnswer); told != fmt.Sprint(now.Stuck, len(now.Findings)) {
			told = fmt.Sprint(now.Stuck, len(now.Findings))
			out.send("why", now)
		}
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
		case <-time.After(stuckAfter): // a session that hangs does not grow
		}
	}
	return nil
}
