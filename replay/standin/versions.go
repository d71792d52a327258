package standin

import (
	"encoding/json"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Reading is what a request reads that a server tells the changes of; the zero Reading: nothing.
type Reading struct {
	Subject string // a list or a resource, such as "tools/list" or "resources/read file:///a"
	Page    string // the same, with the cursor of a page of the list
}

// ReadingOf returns what a request reads.
func ReadingOf(request transport.Message) Reading {
	switch request.Method {
	case mcp.MethodListTools, mcp.MethodListPrompts, mcp.MethodListResources, mcp.MethodListResourceTemplates:
		reading := Reading{request.Method, request.Method}
		if cursor := transport.Member(request.Params, "cursor"); cursor != nil {
			reading.Page += " " + string(cursor)
		}
		return reading
	case mcp.MethodReadResource:
		subject := Resource(timeline.TargetOf(request))
		return Reading{subject, subject}
	}
	return Reading{}
}

// IsPage reports whether it is a further page of a list.
func (r Reading) IsPage() bool { return r.Page != r.Subject }

// ChangedBy returns the subject that a server's notification says has changed; "": it says no such thing.
func ChangedBy(notification transport.Message) string {
	switch notification.Method {
	case mcp.NotificationToolListChanged:
		return mcp.MethodListTools
	case mcp.NotificationPromptListChanged:
		return mcp.MethodListPrompts
	case mcp.NotificationResourceListChanged:
		return mcp.MethodListResources
	case mcp.NotificationResourceUpdated:
		if uri := timeline.TargetOf(notification); uri != "" {
			return Resource(uri)
		}
	}
	return ""
}

// Causes has, by the event of a server's notification of a change, how many frames of the client were recorded up to the last
// one that can have caused it. A server may tell of a change at any time, but one that told of it earlier would tell again of
// what the client has changed then, and no Player does: the client would wait for ever.
type Causes map[uint64]int

// Version is a recorded answer with what a server had of a page at that time.
type Version struct {
	Event  uint64 // of the answer
	Place  int    // so many frames of the client were recorded up to its request
	Cause  int    // and so many up to what caused the last change in front of it
	Result json.RawMessage
}

// Versions are what a recorded server had of each page of its lists, and of its resources, in order. A client reads again what
// it hears has changed; the recording may have read it once.
type Versions map[string][]Version

// Unasked has, by the event of the answer to a subscription, the events that told of changes which the client has not caused since
// it subscribed, of what it has read before the first of them: they may as well have come before the subscription was there.
type Unasked map[uint64][]uint64

// subscription is one that a client has made.
type subscription struct {
	answer uint64 // its event
	place  int    // so many frames of the client were recorded up to it
}

// Changes returns the causes of a session's changes, the versions of what has changed, and the changes that nobody has asked for.
func Changes(events []store.Event) (Causes, Versions, Unasked) {
	causes, versions, unasked := Causes{}, Versions{}, Unasked{}
	subscriptions := map[string]subscription{} // by what has changed
	asked := map[*timeline.Call]Version{}
	readings := map[*timeline.Call]Reading{}
	latest := map[string]int{} // by the subject: the cause of its last change
	count, cause := 0, 0
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		isClient := e.Kind == store.Frame && e.Dir == transport.ClientToServer
		if isClient {
			count++
		}
		for _, m := range model.Take(e).Messages {
			if isClient && !onlyReads(m.Method) {
				cause = count
			}
			if subject := ChangedBy(m.Message); subject != "" && e.Dir == transport.ServerToClient {
				causes[e.Seq], latest[subject] = cause, cause
				if s := subscriptions[subject]; s.answer != 0 && cause <= s.place && (len(unasked[s.answer]) > 0 || len(versions[subject]) > 0) {
					unasked[s.answer] = append(unasked[s.answer], e.Seq)
				}
			}
			reading := readings[m.Call]
			switch {
			case m.Call == nil:
			case m.Kind == transport.Request && isClient:
				readings[m.Call] = ReadingOf(m.Message)
				asked[m.Call] = Version{Place: count}
				if m.Method == mcp.MethodUnsubscribe {
					delete(subscriptions, Resource(m.Call.Target))
				}
			case m.Role == timeline.Answers && m.Result != nil && m.Call.Method == mcp.MethodSubscribe && m.Call.Dir == transport.ClientToServer:
				subscriptions[Resource(m.Call.Target)] = subscription{e.Seq, asked[m.Call].Place}
			case m.Role == timeline.Answers && m.Result != nil && reading.Page != "":
				v := asked[m.Call]
				v.Event, v.Cause, v.Result = e.Seq, latest[reading.Subject], m.Result
				versions[reading.Page] = append(versions[reading.Page], v)
			}
		}
	}
	return causes, versions, unasked
}

// Resource returns the subject of a resource.
func Resource(uri string) string { return mcp.MethodReadResource + " " + uri }

// onlyReads reports whether what a client says with a method changes nothing that a server tells of.
func onlyReads(method string) bool {
	switch method {
	case mcp.MethodPing, mcp.MethodReadResource, mcp.MethodGetPrompt, mcp.MethodComplete,
		mcp.MethodListTools, mcp.MethodListPrompts, mcp.MethodListResources, mcp.MethodListResourceTemplates:
		return true
	}
	return false
}

// At returns the version of a page that an event answers with.
func (v Versions) At(page string, event uint64) Version {
	for _, version := range v[page] {
		if version.Event == event {
			return version
		}
	}
	return Version{}
}

// Behind returns what the server has of a page when it has told of a change by an event; nil if that is not recorded.
func (v Versions) Behind(page string, event uint64) json.RawMessage {
	for _, version := range v[page] {
		if version.Event > event {
			return version.Result
		}
	}
	return nil
}

// Latest returns the last that the server can have of a page when so many frames of the client have come; nil if nothing is
// recorded.
func (v Versions) Latest(page string, heard int) (latest json.RawMessage) {
	for _, version := range v[page] {
		if version.Cause <= heard {
			latest = version.Result
		}
	}
	return latest
}
