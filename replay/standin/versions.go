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
		subject := request.Method + " " + timeline.TargetOf(request)
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
			return mcp.MethodReadResource + " " + uri
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

// Changes returns the causes of a session's changes, and the versions of what has changed.
func Changes(events []store.Event) (Causes, Versions) {
	causes, versions := Causes{}, Versions{}
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
			}
			reading := readings[m.Call]
			switch {
			case m.Call == nil:
			case m.Kind == transport.Request && isClient:
				readings[m.Call] = ReadingOf(m.Message)
				asked[m.Call] = Version{Place: count}
			case m.Role == timeline.Answers && m.Result != nil && reading.Page != "":
				v := asked[m.Call]
				v.Event, v.Cause, v.Result = e.Seq, latest[reading.Subject], m.Result
				versions[reading.Page] = append(versions[reading.Page], v)
			}
		}
	}
	return causes, versions
}

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
