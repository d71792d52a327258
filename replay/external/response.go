package external

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
	"github.com/mcprec/mcprec/transport/streamable"
)

// response takes an HTTP/1.1 response in as its bytes come, and finds the frames in it.
type response struct {
	method string // of the request

	head   *http.Response // nil: it has not come whole
	isOver bool           // it has come whole
	broken string         // why it cannot be read on

	rest    []byte // not taken apart yet
	left    int64  // of the body, or of its chunk; negative: up to the end of the connection
	chunked bool
	isTail  bool // the last chunk was read

	scanner streamable.EventScanner
	data    []byte // of the event so far
	body    []byte // of a response that is no stream
	frames  []transport.Frame

	lastID        string        // of the last event that has one
	retry         time.Duration // before the client may ask for the rest of the stream
	isResumable   bool          // a frame came behind an event with an id
	isCutBehindID bool          // the client cuts the stream behind the first event with an id
	isCut         bool
}

// mostHead is how many bytes the head of a response, or the line of a chunk's size, may have.
const mostHead = 1 << 20

// take takes bytes in. At the end of the connection there are none. Of a response that is, or says that it is,
// too long to be held, the rest is dropped.
func (r *response) take(data []byte, isEnd bool) {
	if r.broken != "" {
		return
	}
	r.rest = append(r.rest, data...)
	for r.head == nil && r.broken == "" && !isEnd {
		end := bytes.Index(r.rest, []byte("\r\n\r\n"))
		if end < 0 {
			r.limit()
			return
		}
		r.takeHead(r.rest[:end+4])
		r.rest = r.rest[end+4:]
	}
	for !r.isOver && r.broken == "" && r.head != nil && !r.isCut && r.takeBody() {
	}
	r.limit()
	switch {
	case r.isOver || r.broken != "" || r.isCut || !isEnd:
	case r.head != nil && r.left < 0:
		r.finish()
	default:
		r.broken = "the connection ended in the middle of the response"
		if r.head == nil && len(r.rest) == 0 {
			r.broken = "the connection ended without a response"
		}
	}
}

// limit gives up a response that is too long.
func (r *response) limit() {
	isTooLong := len(r.body) > transport.MaxMessage || len(r.data)+r.scanner.Held() > transport.MaxMessage || !r.isStream() && r.left > transport.MaxMessage
	switch {
	case r.broken != "" || r.isOver || r.isCut:
	case len(r.rest) > mostHead && (r.head == nil || r.left == 0):
		r.broken = fmt.Sprintf("its head is longer than %d MiB, and is not read", mostHead>>20)
	case isTooLong:
		r.broken = fmt.Sprintf("it is longer than %d MiB, and is not read", transport.MaxMessage>>20)
	}
	if r.broken != "" {
		r.rest, r.body, r.data = nil, nil, nil
	}
}

func (r *response) takeHead(head []byte) {
	parsed, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: r.method})
	switch {
	case err != nil:
		r.broken = fmt.Sprintf("it is no HTTP response: %v", err)
		return
	case parsed.StatusCode < 200: // another one follows
		return
	}
	_ = parsed.Body.Close()
	r.head = parsed
	r.chunked = len(parsed.TransferEncoding) > 0
	if !r.chunked {
		r.left = parsed.ContentLength
	}
	if !r.chunked && r.left == 0 {
		r.finish()
	}
}

// takeBody takes one piece of the body, and reports whether there was one.
func (r *response) takeBody() (isMore bool) {
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
			r.broken = fmt.Sprintf("%q is no size of a chunk", clip(text))
			return false
		}
		r.left = left
		r.isTail = left == 0
	}
	return true
}

func (r *response) isStream() bool {
	return r.head != nil && r.head.StatusCode == http.StatusOK && strings.HasPrefix(r.head.Header.Get("Content-Type"), mcp.MediaEventStream)
}

func (r *response) takeData(data []byte) {
	if !r.isStream() {
		r.body = append(r.body, data...)
		return
	}
	r.takeEvents(r.scanner.Scan(data))
}

func (r *response) takeEvents(found []streamable.StreamEvent) {
	for _, event := range found {
		r.data = append(r.data, event.Data...)
		if event.More {
			continue
		}
		fields := event.Fields()
		lastID := r.lastID
		if fields.HasID {
			lastID = fields.ID
		}
		if pause, isAsked := fields.Pause(); isAsked {
			r.retry = pause
		}
		if len(r.data) > 0 && fields.IsMessage() {
			r.frames = append(r.frames, transport.Frame{Bytes: r.data})
			r.isResumable = r.isResumable || r.lastID != ""
		}
		r.data = nil
		r.lastID = lastID
		if r.isCut = r.isCutBehindID && lastID != ""; r.isCut {
			return
		}
	}
}

// finish ends the response.
func (r *response) finish() {
	r.isOver = true
	if r.isStream() {
		found, _ := r.scanner.End()
		r.takeEvents(found)
		return
	}
	frame := transport.Frame{Bytes: r.body}
	if messages, err := frame.Messages(); err == nil && (len(messages) != 1 || messages[0].Kind() != transport.Invalid) {
		r.frames = append(r.frames, frame)
	}
}

// String says what a response without an answer is.
func (r *response) String() string {
	switch {
	case r.broken != "":
		return r.broken
	case r.head == nil:
		return "the client has hung up"
	case r.head.StatusCode != http.StatusOK:
		return strings.TrimSuffix(fmt.Sprintf("%d %s: %s", r.head.StatusCode, http.StatusText(r.head.StatusCode), clip(strings.TrimSpace(string(r.body)))), ": ")
	}
	if r.isStream() {
		return "its stream has ended"
	}
	return "there is no message in it"
}
