package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Extend returns a session with the frames of another before its end. The ids and progress
// tokens of the added frames are new to the session, see [Renumber], and the times begin at
// the end of the session's frames. In a session recorded over HTTP the added frames stand in
// new exchanges, of the last MCP session.
func Extend(recorded, added []store.Event) []store.Event {
	return extend(recorded, added, exchangesOf(recorded).lastSession())
}

// extend is Extend for a given MCP session of a recording.
func extend(recorded, added []store.Event, session string) []store.Event {
	frames := len(added)
	added = Renumber(recorded, added)
	if x := exchangesOf(recorded); len(x.order) > 0 && !x.legacy {
		added = x.enclose(added, session)
	}
	end := len(recorded)
	for end > 1 && slices.Contains([]store.Kind{store.EOF, store.Exited, store.Closed}, recorded[end-1].Kind) {
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

// Renumber returns events of another session, to follow the recorded events. The ids and
// progress tokens are new to the session, which may use the id of a request once. Responses,
// progress, cancellations and subscription ids keep naming the same requests. Nothing else is
// changed.
func Renumber(recorded, added []store.Event) []store.Event {
	ids := newNumbers()
	tokens := newNumbers()
	for i, events := range [][]store.Event{recorded, added} {
		for dir, m := range messagesIn(events) {
			if m.Kind() == transport.Request {
				ids[dir].take(m.ID, i == 0)
				tokens[dir].take(m.ProgressToken(), i == 0)
			}
		}
	}
	added = slices.Clone(added)
	for i, e := range added {
		if e.Kind != store.Frame {
			continue
		}
		for n, m := range timeline.MessagesOf(e.AsFrame()) {
			at := within(e.Payload, n)
			put := func(value json.RawMessage, path ...string) {
				if value != nil {
					added[i].Payload, _ = match.Splice(added[i].Payload, value, slices.Concat(at, path)...)
				}
			}
			switch {
			case m.Kind() == transport.Request:
				put(ids[e.Dir].renew(m.ID), "id")
				put(tokens[e.Dir].renew(m.ProgressToken()), "params", mcp.MemberMeta, mcp.MemberProgressToken)
			case m.Kind() == transport.Response:
				put(ids[e.Dir.Reverse()].of(m.ID), "id")
			case m.Method == mcp.NotificationProgress:
				put(tokens[e.Dir.Reverse()].of(m.ProgressToken()), "params", mcp.MemberProgressToken)
			case m.Method == mcp.NotificationCancelled:
				put(ids[e.Dir].of(timeline.CancelledID(m)), "params", mcp.MemberRequestID)
			}
			for part, raw := range map[string]json.RawMessage{"params": m.Params, "result": m.Result} {
				id := transport.Member(raw, mcp.MemberMeta, mcp.MetaSubscriptionID)
				put(ids[transport.ClientToServer].of(id), part, mcp.MemberMeta, mcp.MetaSubscriptionID)
			}
		}
	}
	return added
}

// numbers are ids, or progress tokens, of the requests of one direction.
type numbers struct {
	recorded map[mcp.Key]bool            // of the recorded session
	taken    map[mcp.Key]bool            // not free for a new request
	fresh    map[mcp.Key]json.RawMessage // new numbers, by replaced number
	most     int64
}

// newNumbers returns the numbers of each direction.
func newNumbers() (all [3]*numbers) {
	for dir := range all {
		all[dir] = &numbers{recorded: map[mcp.Key]bool{}, taken: map[mcp.Key]bool{}, fresh: map[mcp.Key]json.RawMessage{}}
	}
	return all
}

// take notes the number of a request; nil: no number.
func (n *numbers) take(raw json.RawMessage, recorded bool) {
	if raw != nil {
		key := mcp.KeyOf(raw)
		n.taken[key] = true
		n.recorded[key] = n.recorded[key] || recorded
	}
}

// of returns the new number in place of a number; nil: the number stays.
func (n *numbers) of(raw []byte) json.RawMessage { return n.fresh[mcp.KeyOf(raw)] }

// renew returns a new number, of the same JSON type, in place of a number in use by the
// session; nil for another number.
func (n *numbers) renew(raw []byte) json.RawMessage {
	key := mcp.KeyOf(raw)
	if raw == nil || !n.recorded[key] {
		return nil
	}
	var fresh json.RawMessage
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		for i := 2; fresh == nil || n.taken[mcp.KeyOf(fresh)]; i++ {
			fresh, _ = json.Marshal(fmt.Sprintf("%s-%d", text, i))
		}
	} else {
		if n.most == 0 {
			for id := range n.taken {
				if v, err := strconv.ParseInt(string(id), 10, 64); err == nil && v < 1<<53 {
					n.most = max(n.most, v)
				}
			}
		}
		n.most++
		fresh = strconv.AppendInt(nil, n.most, 10)
	}
	n.fresh[key] = fresh
	n.taken[mcp.KeyOf(fresh)] = true
	return fresh
}

// enclose puts the frames of a session into new HTTP exchanges, as in a recording over HTTP:
// each frame of the client into a separate exchange, and each frame of the server into the
// exchange of the answered or reported request, or of the last request.
func (x *exchanges) enclose(added []store.Event, session string) (all []store.Event) {
	var last uint64
	for _, ex := range x.order {
		last = max(last, ex.number)
	}
	streams := streamsOf(added, last)
	left := map[uint64]int{} // frames of the server to come
	for i, e := range added {
		if e.Dir == transport.ServerToClient {
			left[streams[i]]++
		}
	}
	answered := map[uint64]bool{}
	say := func(e store.Event, info store.HTTPInfo) {
		all = append(all, store.Event{At: e.At, Kind: store.HTTP, Dir: e.Dir, Stream: e.Stream, Payload: store.EncodePayload(info)})
	}
	for i, e := range added {
		e.Stream = streams[i]
		if e.Dir == transport.ClientToServer {
			header := http.Header{"Content-Type": {mcp.MediaJSON}, "Accept": {"application/json, " + mcp.MediaEventStream}}
			if session != "" {
				header.Set(mcp.HeaderSessionID, session)
			}
			if messages := timeline.MessagesOf(e.AsFrame()); len(messages) > 0 {
				streamable.Route(header, messages[0], x.versions[session])
			}
			say(e, store.HTTPInfo{What: store.HTTPRequest, Method: http.MethodPost, Path: x.mainPath(), Header: header})
			all = append(all, e)
			if left[e.Stream] == 0 {
				e.Dir = transport.ServerToClient
				say(e, store.HTTPInfo{What: store.HTTPResponse, Status: http.StatusAccepted})
				say(e, store.HTTPInfo{What: store.HTTPEnd})
			}
			continue
		}
		if !answered[e.Stream] {
			answered[e.Stream] = true
			kind := mcp.MediaEventStream
			if left[e.Stream] == 1 {
				kind = mcp.MediaJSON
			}
			say(e, store.HTTPInfo{What: store.HTTPResponse, Status: http.StatusOK, Header: http.Header{"Content-Type": {kind}}})
		}
		all = append(all, e)
		if left[e.Stream]--; left[e.Stream] == 0 {
			say(e, store.HTTPInfo{What: store.HTTPEnd})
		}
	}
	return all
}

// streamsOf returns the number of each frame's exchange, from last on.
func streamsOf(frames []store.Event, last uint64) (streams []uint64) {
	model := timeline.NewModel(timeline.All)
	asked := map[*timeline.Call]uint64{} // the exchange of a request of the client
	latest := last                       // of a request
	for _, e := range frames {
		stream := latest
		if e.Dir == transport.ClientToServer {
			last++
			stream = last
		}
		e.Stream = 0 // the frames have no exchanges yet
		for _, m := range model.Take(e).Messages {
			on, found := asked[m.Call]
			switch {
			case m.Role == timeline.Asks && e.Dir == transport.ClientToServer:
				asked[m.Call] = last
				latest = last
			case found && (m.Role == timeline.Answers || m.Role == timeline.Reports) && e.Dir == transport.ServerToClient:
				stream = on
			}
		}
		streams = append(streams, stream)
	}
	return streams
}
