package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// MissCode is the JSON-RPC error code of the answer to a request without a recorded
// answer. It is in the range left to implementations, and no SDK gives it a meaning of its
// own (-32001 is a time-out in the TypeScript SDK).
const MissCode = -32010

// answerTo returns an unrecorded response.
func answerTo(id json.RawMessage, stream uint64, body []byte) transport.Frame {
	return transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, id, body), Stream: stream}
}

// missBody is the error of a request without a recorded answer.
func missBody(text string) []byte {
	quoted, _ := json.Marshal("mcprec: " + text)
	return fmt.Appendf(nil, `"error":{"code":%d,"message":%s}`, MissCode, quoted)
}

// about names a request or notification and its target.
func about(m transport.Message) string {
	if name := timeline.TargetOf(m); name != "" {
		return phrase.Name(m.Method) + " " + phrase.Name(name)
	}
	return phrase.Name(m.Method)
}

// messagesIn yields the messages of a recording and their directions.
func messagesIn(events []store.Event) iter.Seq2[transport.Direction, transport.Message] {
	return func(yield func(transport.Direction, transport.Message) bool) {
		for _, e := range events {
			if e.Kind != store.Frame {
				continue
			}
			for _, m := range timeline.MessagesOf(e.AsFrame()) {
				if !yield(e.Dir, m) {
					return
				}
			}
		}
	}
}

// edit is a place in a recorded frame where the live peer's id, or progress token, of a
// request belongs.
type edit[R any] struct {
	path    []string
	token   bool
	request R
}

// of returns the id or the token of a message.
func (e edit[R]) of(m transport.Message) []byte {
	if e.token {
		return m.ProgressToken()
	}
	return m.ID
}

// Paths to ids and tokens of a live end. Most frames share them.
var (
	idPath       = []string{"id"}
	progressPath = []string{"params", mcp.MemberProgressToken}
)

// within returns the path to message i of a frame: an index in a batch, or nothing.
func within(frame []byte, i int) []string {
	if bytes.HasPrefix(bytes.TrimSpace(frame), []byte("[")) {
		return []string{strconv.Itoa(i)}
	}
	return nil
}

// below returns the path in a frame to a place in a message, which has a path itself.
func below(message, path []string) []string {
	if len(message) == 0 {
		return path
	}
	return slices.Concat(message, path)
}

// isNull reports whether the id of an error names no request.
func isNull(id json.RawMessage) bool { return len(id) == 0 || string(id) == "null" }

// strayKey is common to answers that belong to no request: a server gives one, with a null
// id, to a frame that it could not read, and a faulty peer answers twice. A replay says them
// again as they were recorded.
func strayKey(m transport.Message) string { return "answer " + string(mcp.KeyOf(m.ID)) }

// Noise is a frame without a message. Nothing waits for it, with one exception: the error
// with which a server answers a frame that it could not read, and which names no request,
// belongs to the noise in front of it. A client that says such noise gets the error.
//
// A live end that says more noise than the recorded end is reported once, as Extra.

// noiseMethod is the key of noise among the client messages that are not requests.
const noiseMethod = "a frame that is no message"

// isNoise reports whether a frame is not blank and has no message.
func isNoise(frame []byte, messages []transport.Message) bool {
	isMessage := func(m transport.Message) bool { return m.Kind() != transport.Invalid }
	return !slices.ContainsFunc(messages, isMessage) && len(bytes.TrimSpace(frame)) > 0
}

// isBlank reports whether a frame is an empty line. Most peers skip it on stdio, where they
// read JSON and not lines, so it is never played.
func isBlank(e store.Event) bool { return len(bytes.TrimSpace(e.Payload)) == 0 }

// onOneLine returns a frame that a transport of lines can send: over HTTP a message may have
// newlines between its tokens.
func onOneLine(f transport.Frame) transport.Frame {
	if bytes.IndexByte(f.Bytes, '\n') >= 0 {
		f.Bytes = bytes.ReplaceAll(f.Bytes, []byte("\n"), []byte(" "))
	}
	return f
}

// lookahead is the number of recorded messages that a live one is compared with.
const lookahead = 16

// left returns a queue without the first few messages that have arrived. A message that does
// not come stays in front, and must not take the places of the others.
func left[E any](queue []E, arrived func(E) bool) []E {
	at := min(len(queue), lookahead)
	for i := at - 1; i >= 0; i-- {
		if !arrived(queue[i]) {
			at--
			queue[at] = queue[i]
		}
	}
	return queue[at:]
}

func isPing(messages []transport.Message) bool {
	return len(messages) == 1 && messages[0].Method == mcp.MethodPing
}

// orderKeys names the things in the body of a message, of either end, among which order
// counts. Frames of one end with a key in common keep their order.
func orderKeys(m transport.Message) []string {
	var keys []string
	for _, raw := range [][]byte{m.Params, m.Result} {
		for _, handle := range match.HandlesIn(raw) {
			if handle.Kind == "task" {
				keys = append(keys, "task "+handle.Value)
			}
		}
		if id := transport.Member(raw, mcp.MemberMeta, mcp.MetaSubscriptionID); id != nil {
			keys = append(keys, "subscription "+string(mcp.KeyOf(id)))
		}
		if id := transport.Member(raw, mcp.MemberElicitationID); id != nil {
			keys = append(keys, "elicitation "+string(id))
		}
	}
	return keys
}
