package incoming

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Response takes an HTTP/1.1 response in as its bytes come, and finds the frames in it. The caller sets Method, and may set
// IsCutBehindID, LastID and IsResumable, before the first byte. It may take Frames out at any time.
type Response struct {
	Method        string // of the request
	IsCutBehindID bool   // the client cuts the stream behind the first event with an id

	Head   *http.Response // nil: it has not come whole
	Frames []transport.Frame
	IsOver bool   // it has come whole
	IsCut  bool   // the client has cut it
	Broken string // why it cannot be read on; "": it can

	LastID      string        // of the last event that has one
	Retry       time.Duration // before the client may ask for the rest of the stream
	IsResumable bool          // a frame came behind an event with an id

	rest    []byte // not taken apart yet
	left    int64  // of the body, or of its chunk; negative: up to the end of the connection
	chunked bool
	isTail  bool // the last chunk was read

	scanner streamable.EventScanner
	data    []byte // of the event so far
	body    []byte // of a response that is no stream
}

// mostHead is how many bytes the head of a response, or the line of a chunk's size, may have.
const mostHead = 1 << 20

// mostShown is how many bytes of what a server has sent are said in an error.
const mostShown = 300

// Take takes bytes in. At the end of the connection there are none. Of a response that is, or says that it is,
// too long to be held, the rest is dropped.
func (r *Response) Take(data []byte, isEnd bool) {
	if r.Broken != "" {
		return
	}
	r.rest = append(r.rest, data...)
	for r.Head == nil && r.Broken == "" && !isEnd {
		end := bytes.Index(r.rest, []byte("\r\n\r\n"))
		if end < 0 {
			r.limit()
			return
		}
		r.takeHead(r.rest[:end+4])
		r.rest = r.rest[end+4:]
	}
	for !r.IsOver && r.Broken == "" && r.Head != nil && !r.IsCut && r.takeBody() {
	}
	r.limit()
	switch {
	case r.IsOver || r.Broken != "" || r.IsCut || !isEnd:
	case r.Head != nil && r.left < 0:
		r.finish()
	default:
		r.Broken = "the connection ended in the middle of the response"
		if r.Head == nil && len(r.rest) == 0 {
			r.Broken = "the connection ended without a response"
		}
	}
}

// limit gives up a response that is too long.
func (r *Response) limit() {
	isTooLong := len(r.body) > transport.MaxMessage || len(r.data)+r.scanner.Held() > transport.MaxMessage || !r.IsStream() && r.left > transport.MaxMessage
	switch {
	case r.Broken != "" || r.IsOver || r.IsCut:
	case len(r.rest) > mostHead && (r.Head == nil || r.left == 0):
		r.Broken = fmt.Sprintf("its head is longer than %d MiB, and is not read", mostHead>>20)
	case isTooLong:
		r.Broken = fmt.Sprintf("it is longer than %d MiB, and is not read", transport.MaxMessage>>20)
	}
	if r.Broken != "" {
		r.rest, r.body, r.data = nil, nil, nil
	}
}

func (r *Response) takeHead(head []byte) {
	parsed, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: r.Method})
	switch {
	case err != nil:
		r.Broken = fmt.Sprintf("it is no HTTP response: %v", err)
		return
	case parsed.StatusCode < 200: // another one follows
		return
	}
	_ = parsed.Body.Close()
	r.Head = parsed
	r.chunked = len(parsed.TransferEncoding) > 0
	if !r.chunked {
		r.left = parsed.ContentLength
	}
	if !r.chunked && r.left == 0 {
		r.finish()
	}
}

// takeBody takes one piece of the body, and reports whether there was one.
func (r *Response) takeBody() (isMore bool) {
	if r.left != 0 {
		count := int64(len(r.rest))
		if r.left > 0 {
			count = min(count, r.left)
			r.left -= count
		}
		r.takeData(r.rest[:count])
		r.rest = r.rest[count:]
		if r.left == 0 && !r.chunked {
			r.finish()
		}
		return count > 0
	}
	line, rest, found := bytes.Cut(r.rest, []byte("\n"))
	if !found {
		return false
	}
	r.rest = rest
	text := strings.TrimSpace(string(line))
	switch {
	case r.isTail && text == "":
		r.finish()
	case r.isTail || text == "": // a trailer, or the end of a chunk
	default:
		size, _, _ := strings.Cut(text, ";")
		left, err := strconv.ParseInt(strings.TrimSpace(size), 16, 63)
		if err != nil || left < 0 {
			r.Broken = fmt.Sprintf("%q is no size of a chunk", phrase.Shorten(text, mostShown))
			return false
		}
		r.left = left
		r.isTail = left == 0
	}
	return true
}

// IsStream reports whether the response is a stream of events.
func (r *Response) IsStream() bool {
	return r.Head != nil && r.Head.StatusCode == http.StatusOK && strings.HasPrefix(r.Head.Header.Get("Content-Type"), mcp.MediaEventStream)
}

func (r *Response) takeData(data []byte) {
	if !r.IsStream() {
		r.body = append(r.body, data...)
		return
	}
	r.takeEvents(r.scanner.Scan(data))
}

func (r *Response) takeEvents(found []streamable.StreamEvent) {
	for _, event := range found {
		r.data = append(r.data, event.Data...)
		if event.More {
			continue
		}
		fields := event.Fields()
		lastID := r.LastID
		if fields.HasID {
			lastID = fields.ID
		}
		if pause, isAsked := fields.Pause(); isAsked {
			r.Retry = pause
		}
		if len(r.data) > 0 && fields.IsMessage() {
			r.Frames = append(r.Frames, transport.Frame{Bytes: r.data})
			r.IsResumable = r.IsResumable || r.LastID != ""
		}
		r.data = nil
		r.LastID = lastID
		if r.IsCut = r.IsCutBehindID && lastID != ""; r.IsCut {
			return
		}
	}
}

// finish ends the response.
func (r *Response) finish() {
	r.IsOver = true
	if r.IsStream() {
		found, _ := r.scanner.End()
		r.takeEvents(found)
		return
	}
	frame := transport.Frame{Bytes: r.body}
	if messages, err := frame.Messages(); err == nil && (len(messages) != 1 || messages[0].Kind() != transport.Invalid) {
		r.Frames = append(r.Frames, frame)
	}
}

// String says what a response without an answer is.
func (r *Response) String() string {
	switch {
	case r.Broken != "":
		return r.Broken
	case r.Head == nil:
		return "the client has hung up"
	case r.Head.StatusCode != http.StatusOK:
		return strings.TrimSuffix(fmt.Sprintf("%d %s: %s", r.Head.StatusCode, http.StatusText(r.Head.StatusCode), phrase.Shorten(strings.TrimSpace(string(r.body)), mostShown)), ": ")
	}
	if r.IsStream() {
		return "its stream has ended"
	}
	return "there is no message in it"
}
