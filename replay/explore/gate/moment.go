package gate

import (
	"errors"
	"io"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport"
)

// Moment is what a recorder of HTTP notes of an exchange.
type Moment struct {
	Round  int // steps released before
	Dir    transport.Direction
	Info   *store.HTTPInfo // or nil, for a frame of the response
	Flight *Flight         // the frame, or nil
}

// Moments returns the exchange as recorded, in order: the request without its frame, and the
// response. What the client left unread is not there. A request that was withdrawn has no moments.
func (x *Exchange) Moments() []Moment {
	if !x.arrived && x.left {
		return nil
	}
	list := []Moment{{Round: x.round, Dir: transport.ClientToServer, Info: &store.HTTPInfo{
		What: store.HTTPRequest, Method: x.request.Method, Path: x.request.RequestURI, Header: httpevent.Header(x.request.Header),
	}}}
	for _, parts := range [][]*piece{x.given, x.parts} {
		for _, p := range parts {
			list = append(list, x.momentsOf(p)...)
		}
	}
	if x.left {
		end := Moment{Round: x.ended, Dir: transport.ClientToServer, Info: &store.HTTPInfo{What: store.HTTPAbort}}
		switch {
		case errors.Is(x.err, io.EOF): // the handler aborted before the head
			end.Dir, end.Info.What = transport.ServerToClient, store.HTTPNone
		case errors.Is(x.err, io.ErrUnexpectedEOF): // a cut
			end.Dir, end.Info.What = transport.ServerToClient, store.HTTPBroken
		}
		list = append(list, end)
	}
	return list
}

// momentsOf returns the moments of a part of the response.
func (x *Exchange) momentsOf(p *piece) (list []Moment) {
	say := func(info store.HTTPInfo) {
		list = append(list, Moment{Round: p.round, Dir: transport.ServerToClient, Info: &info})
	}
	if p.head {
		say(store.HTTPInfo{What: store.HTTPResponse, Status: x.status, Header: httpevent.Header(x.sent)})
	}
	switch {
	case p.event.Meta != nil:
		say(store.HTTPInfo{What: store.HTTPEvent, SSE: httpevent.SSE(p.event.Meta, p.event.Stray)})
	case p.flight == nil && len(p.bytes) > 0 && p.ends:
		info := store.HTTPInfo{What: store.HTTPBody}
		info.SetBody(p.bytes)
		say(info)
	}
	if p.flight != nil {
		list = append(list, Moment{Round: p.round, Dir: transport.ServerToClient, Flight: p.flight})
	}
	switch {
	case p.breaks:
		say(store.HTTPInfo{What: store.HTTPBroken, Error: io.ErrUnexpectedEOF.Error()})
	case p.ends:
		say(store.HTTPInfo{What: store.HTTPEnd})
	}
	return list
}
