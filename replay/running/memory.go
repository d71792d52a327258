package running

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Held are the messages in a server's memory: those that it read and wrote, as far as their bytes are still there.
type Held struct {
	Messages int
	Open     []HeldCall // the requests without an answer, and what else a side waits for
}

// HeldCall is a request in the memory of a server.
type HeldCall struct {
	ID       string
	Method   string
	Name     string // of a tool or a prompt
	ByServer bool   // the server has asked
	// Shape and Culprit say what is missing, in the words of package why.
	Shape, Culprit string
	// AsksPerson is set if a person is asked, who may take a while.
	AsksPerson bool

	params json.RawMessage
}

// label names a call.
func (c HeldCall) label(mask func(string) string) string {
	text := phrase.Name(mask(c.Method))
	if c.Name != "" {
		text += " " + phrase.QuotedName(mask(c.Name))
	}
	return fmt.Sprintf("%s (id %s)", text, phrase.Name(c.ID))
}

// ofServer are the methods of the requests that only a server sends.
var ofServer = []string{mcp.MethodCreateMessage, mcp.MethodElicit, mcp.MethodListRoots}

// Recall looks for messages in the memory of a server. Only the latest request of each direction can be called open:
// the bytes of an answer to an older one may be gone.
func Recall(pid int) (Held, error) {
	const most = 1 << 30
	h := newHolding()
	_, written, isCounted := procfs.Counts(pid)
	_, err := procfs.Memory(pid, most, h.take)
	h.holdsBack = isCounted && h.lengthOfAnswers() > written
	return h.held(), err
}

// holding gathers messages.
type holding struct {
	messages int
	requests map[string]HeldCall          // by who asked, the id and the method
	order    []string                     // their keys
	answers  map[string][]json.RawMessage // results and errors, by id
	closed   map[string]bool              // ids that were cancelled
	notified map[string]bool              // the methods of notifications
	asksUser bool                         // the client has declared that it can ask its user
	said     map[string]uint64            // the length of each answer, by its text
	// holdsBack is set if the answers are longer than all output of the process: the last one is not written yet.
	holdsBack bool
}

func newHolding() *holding {
	return &holding{answers: map[string][]json.RawMessage{}, requests: map[string]HeldCall{}, closed: map[string]bool{}, notified: map[string]bool{}, said: map[string]uint64{}}
}

// lengthOfAnswers returns the bytes of the answers to the client's requests, with their newlines.
func (h *holding) lengthOfAnswers() (sum uint64) {
	for _, length := range h.said {
		sum += length
	}
	return sum
}

// take finds messages in a run of memory.
func (h *holding) take(run []byte) {
	const version = `"jsonrpc"`
	const before, longest = 64 << 10, 8 << 20
	for at := 0; ; {
		found := bytes.Index(run[at:], []byte(version))
		if found < 0 {
			return
		}
		at += found + len(version)
		// It is the first member, in most messages; or one of the last, behind a result.
		begin := at - len(version)
		for tries := 0; tries < 8; tries++ {
			begin = bytes.LastIndexByte(run[max(0, begin-before):begin], '{') + max(0, begin-before)
			if begin < 0 || run[begin] != '{' {
				break
			}
			if size := objectLength(run[begin:min(len(run), begin+longest)]); size > at-begin-len(version) {
				h.add(run[begin : begin+size])
				break
			}
			if begin == 0 {
				break
			}
		}
	}
}

// objectLength returns the length of the JSON object at the beginning of a text; 0 if there is none.
func objectLength(text []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c < ' ' && c != '\n' && c != '\r' && c != '\t':
			return 0
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// add takes one message.
func (h *holding) add(text []byte) {
	messages, err := transport.Frame{Bytes: text}.Messages()
	if err != nil || len(messages) != 1 {
		return
	}
	m := messages[0]
	id := string(mcp.KeyOf(m.ID))
	switch m.Kind() {
	case transport.Request:
		call := HeldCall{ID: string(m.ID), Method: m.Method, Name: transport.MemberText(m.Params, "name"), ByServer: slices.Contains(ofServer, m.Method), params: bytes.Clone(m.Params)}
		h.asksUser = h.asksUser || transport.Member(m.Params, "capabilities", "elicitation") != nil ||
			transport.Member(m.Params, mcp.MemberMeta, mcp.MetaClientCapabilities, "elicitation") != nil
		key := fmt.Sprint(call.ByServer, id, m.Method)
		if _, isKnown := h.requests[key]; !isKnown {
			h.requests[key] = call
			h.order = append(h.order, key)
		}
	case transport.Response:
		result := m.Result
		if result == nil {
			result = m.Error
		}
		h.answers[id] = append(h.answers[id], bytes.Clone(result))
		h.said[string(text)] = uint64(len(text)) + 1
	case transport.Notification:
		h.notified[m.Method] = true
		if m.Method == mcp.NotificationCancelled {
			h.closed[string(mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID)))] = true
		}
	default:
		return
	}
	h.messages++
}

// held returns the open calls: those without an answer if the memory has all requests of the session, and otherwise
// the latest of each direction.
func (h *holding) held() Held {
	held := Held{Messages: h.messages}
	h.placePings()
	for _, byServer := range []bool{true, false} {
		calls := h.calls(byServer)
		if len(calls) == 0 {
			continue
		}
		if !isWhole(calls) {
			calls = calls[len(calls)-1:]
		}
		if last := calls[len(calls)-1]; !byServer && h.holdsBack && len(h.calls(true)) == 0 && h.isAnswered(last) {
			last.Shape, last.Culprit = why.NoAnswer, "server"
			held.Open = append(held.Open, last)
		}
		for _, call := range calls {
			if h.judge(&call) {
				held.Open = append(held.Open, call)
			}
		}
	}
	return held
}

// calls returns the calls of a side, by their ids.
func (h *holding) calls(byServer bool) (calls []HeldCall) {
	for _, key := range h.order {
		if call := h.requests[key]; call.ByServer == byServer {
			calls = append(calls, call)
		}
	}
	slices.SortStableFunc(calls, func(a, b HeldCall) int {
		switch {
		case later(a.ID, b.ID):
			return 1
		case later(b.ID, a.ID):
			return -1
		}
		return 0
	})
	return calls
}

// placePings finds out which side sent each ping. The first request of a client opens the session, so a ping with no
// later id is the server's. A ping that either side may have sent is left out.
func (h *holding) placePings() {
	first := ""
	for _, call := range h.requests {
		if call.Method == mcp.MethodInitialize {
			first = call.ID
		}
	}
	for key, call := range h.requests {
		if call.Method != mcp.MethodPing {
			continue
		}
		if first == "" || later(call.ID, first) {
			delete(h.requests, key)
			h.order = slices.DeleteFunc(h.order, func(k string) bool { return k == key })
			continue
		}
		call.ByServer = true
		h.requests[key] = call
	}
}

// judge says what a call still lacks; false: nothing.
func (h *holding) judge(call *HeldCall) bool {
	id := string(mcp.KeyOf(json.RawMessage(call.ID)))
	isAnswered := h.isAnswered(*call)
	switch {
	case call.Method == mcp.MethodListen:
		call.Shape, call.Culprit = why.NotAcknowledged, "server"
		return !isAnswered && !h.notified[mcp.NotificationAcknowledged]
	case !isAnswered && call.ByServer:
		call.Shape, call.Culprit = why.AsksClient, "client"
		call.AsksPerson = call.Method == mcp.MethodElicit && h.asksUser
		return true
	case !isAnswered:
		call.Shape, call.Culprit = why.NoAnswer, "server"
		return true
	case call.Method == mcp.MethodInitialize:
		call.Shape, call.Culprit = why.NotInitialized, "client"
		return !h.notified[mcp.NotificationInitialized] && len(h.requests) == 1
	}
	for _, result := range h.answers[id] {
		wanted := transport.Member(result, mcp.MemberInputRequests)
		if transport.MemberText(result, mcp.MemberResultType) == mcp.InputRequired && len(h.calls(false)) == 1 {
			call.Shape, call.Culprit = why.InputMissing, "client"
			call.AsksPerson = h.asksUser && bytes.Contains(wanted, []byte(mcp.MethodElicit))
			return true
		}
	}
	return false
}

// isWhole reports whether calls have all the numbers from the first to the last: nothing was written over yet.
func isWhole(calls []HeldCall) bool {
	const most = 64
	first, err := json.Number(calls[0].ID).Int64()
	last, bad := json.Number(calls[len(calls)-1].ID).Int64()
	return err == nil && bad == nil && len(calls) <= most && last-first+1 == int64(len(calls))
}

// isAnswered reports whether a call has an answer, or was cancelled. If both sides use the same id, the result tells
// whose answer it is.
func (h *holding) isAnswered(call HeldCall) bool {
	id := string(mcp.KeyOf(json.RawMessage(call.ID)))
	if h.closed[id] {
		return true
	}
	isShared := false
	for _, other := range h.requests {
		isShared = isShared || other.ByServer != call.ByServer && string(mcp.KeyOf(json.RawMessage(other.ID))) == id
	}
	members := mcp.ResultMembers(call.Method)
	for _, result := range h.answers[id] {
		if !isShared || members == nil {
			return true
		}
		for _, member := range members {
			if transport.Member(result, member) != nil {
				return true
			}
		}
	}
	return false
}

// later reports whether an id was given later than another: numbers rise; other ids tell nothing.
func later(id, than string) bool {
	a, b := json.Number(id), json.Number(than)
	x, errX := a.Int64()
	y, errY := b.Int64()
	return errX == nil && errY == nil && x > y
}
