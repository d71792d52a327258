package replay

import (
	"slices"

	"github.com/mcprec/mcprec/store"
)

// Extend returns a session with more frames before its end, that were said in
// another: with ids and progress tokens that are new to it, see [Renumber]. Their
// times begin where its frames end. In a session recorded over HTTP they stand in
// exchanges of their own, of its last MCP session.
func Extend(recorded, added []store.Event) []store.Event {
	return extend(recorded, added, exchangesOf(recorded).lastSession())
}

// extend is Extend for one of the MCP sessions of a recording.
func extend(recorded, added []store.Event, session string) []store.Event {
	frames := len(added)
	added = Renumber(recorded, added)
	if x := exchangesOf(recorded); len(x.order) > 0 && !x.legacy {
		added = x.enclose(added, session)
	}
	end := len(recorded)
	for end > 1 && endsSession(recorded[end-1].Kind) {
		end--
	}
	all := slices.Clone(recorded[:end])
	var last store.Event
	if end > 0 {
		last = recorded[end-1]
	}
	for _, e := range added {
		e.At += last.At
		all = append(all, e)
	}
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	for _, e := range recorded[end:] {
		e.At = max(e.At, last.At)
		if info, err := store.DecodePayload[store.ClosedInfo](e); err == nil && e.Kind == store.Closed {
			info.Frames += uint64(frames)
			e.Payload = store.EncodePayload(info)
		}
		all = append(all, e)
	}
	for i := range all {
		all[i].Seq = uint64(i + 1)
	}
	return all
}

func endsSession(k store.Kind) bool {
	return k == store.EOF || k == store.Exited || k == store.Closed
}
