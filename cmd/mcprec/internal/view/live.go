package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mcprec/mcprec/transport/mcp"
)

// livePause is the least time between two events of a stream.
const livePause = 250 * time.Millisecond

// live tells a page, while it reads, how the session grows.
func (x *Server) live(w http.ResponseWriter, r *http.Request) {
	index, err := x.index(r)
	if err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	w.Header().Set("Content-Type", mcp.MediaEventStream)
	grown, end := index.watch()
	defer end()
	control := http.NewResponseController(w)
	send := func(event string, id uint64, value any) error {
		text, err := json.Marshal(value)
		if err == nil {
			_, err = fmt.Fprintf(w, "event: %s\nid: %d\ndata: %s\n\n", event, id, text)
		}
		if err == nil {
			err = control.Flush()
		}
		return err
	}
	for {
		index.mu.Lock()
		indexed, done := uint64(len(index.rows)), index.done
		index.mu.Unlock()
		head, err := x.session(r.Context(), index)
		if err != nil || send("head", indexed, head) != nil {
			return
		}
		if done {
			_ = send("end", indexed, struct{}{})
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(livePause):
		}
		select {
		case <-r.Context().Done():
			return
		case <-grown:
		}
	}
}
