package standin

import (
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// WithoutRefused returns the events of a session without those of the exchanges that HTTP refused. It is for a
// drive over a pipe: a pipe has no status, so what a server refused over HTTP it answers there, and the
// recording has nothing to compare that answer with. A session that was not recorded over HTTP is returned as it is.
func WithoutRefused(events []store.Event) []store.Event {
	refused := map[uint64]bool{} // exchanges, by number
	model := timeline.NewModel(0)
	for _, e := range events {
		if x := model.Take(e).Exchange; x != nil && x.IsRefused() {
			refused[x.Number] = true
		}
	}
	if len(refused) == 0 {
		return events
	}
	kept := make([]store.Event, 0, len(events))
	for _, e := range events {
		if !refused[e.Stream] {
			kept = append(kept, e)
		}
	}
	return kept
}
