package replay

import (
	"net/http"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// enclose puts frames that were said in a session into HTTP exchanges of their own, as
// a recording over HTTP has them: each frame of the client in one, the server's in that
// of the request that they answer, or report on, or else of the last request.
func (x *exchanges) enclose(added []store.Event, session string) (all []store.Event) {
	streams := streamsOf(added, x.last())
	left := map[uint64]int{} // frames of the server
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
			say(e, store.HTTPInfo{What: store.HTTPRequest, Method: http.MethodPost, Path: x.mainPath(), Header: x.headOf(e, session)})
			if all = append(all, e); left[e.Stream] == 0 {
				e.Dir = transport.ServerToClient
				say(e, store.HTTPInfo{What: store.HTTPResponse, Status: http.StatusAccepted})
				say(e, store.HTTPInfo{What: store.HTTPEnd})
			}
			continue
		}
		if !answered[e.Stream] {
			answered[e.Stream] = true
			kind := eventStream
			if left[e.Stream] == 1 {
				kind = "application/json"
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

// headOf returns the headers with which a frame of the client is sent.
func (x *exchanges) headOf(e store.Event, session string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, " + eventStream}}
	if session != "" {
		h.Set("Mcp-Session-Id", session)
	}
	for _, m := range messagesOf(e.AsFrame()) {
		streamable.Route(h, m, x.versions[session])
		break
	}
	return h
}

// last returns the greatest number of an exchange.
func (x *exchanges) last() (n uint64) {
	for _, ex := range x.order {
		n = max(n, ex.number)
	}
	return n
}

// lastSession returns the session id that was used last; "": none is.
func (x *exchanges) lastSession() (id string) {
	for _, ex := range x.order {
		if ex.session != "" {
			id = ex.session
		}
	}
	return id
}

// streamsOf numbers the exchanges of frames.
func streamsOf(frames []store.Event, last uint64) (streams []uint64) {
	requests, tokens := map[mcp.Key]uint64{}, map[mcp.Key]uint64{}
	latest := last
	for _, e := range frames {
		messages := messagesOf(e.AsFrame())
		if e.Dir == transport.ClientToServer {
			last++
			for _, m := range messages {
				if m.Kind() == transport.Request {
					requests[mcp.KeyOf(m.ID)], latest = last, last
					if token := m.ProgressToken(); token != nil {
						tokens[mcp.KeyOf(token)] = last
					}
				}
			}
			streams = append(streams, last)
			continue
		}
		stream := latest
		for _, m := range messages {
			switch m.Kind() {
			case transport.Response:
				if of := requests[mcp.KeyOf(m.ID)]; of > 0 {
					stream = of
				}
			case transport.Notification:
				if of := tokens[mcp.KeyOf(m.ProgressToken())]; m.Method == methodProgress && of > 0 {
					stream = of
				}
			}
		}
		streams = append(streams, stream)
	}
	return streams
}
