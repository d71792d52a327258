package incoming

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestResponse holds what is found in responses, whether their bytes come at once or one by one.
func TestResponse(t *testing.T) {
	const stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	const one, two = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/x"}`
	chunk := func(text string) string {
		const digits = "0123456789abcdef"
		return string(digits[len(text)/16%16]) + string(digits[len(text)%16]) + "; ext=1\r\n" + text + "\r\n"
	}
	for name, test := range map[string]struct {
		text        string
		isOver      bool // before the end of the connection
		frames      []string
		says        string // at the end of the connection
		lastID      string
		isResumable bool
		cuts, isCut bool
		retry       time.Duration
	}{
		"a message":                 {text: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n" + one, isOver: true, frames: []string{one}, says: "there is no message in it"},
		"no length":                 {text: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + one, frames: []string{one}, says: "there is no message in it"},
		"accepted":                  {text: "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", isOver: true, says: "202 Accepted"},
		"goes on":                   {text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", isOver: true, says: "202 Accepted"},
		"an error":                  {text: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", isOver: true, says: "404 Not Found: gone"},
		"a stream":                  {text: stream + chunk("id: 7\ndata: \n\n") + chunk("data: "+one[:9]) + chunk(one[9:]+"\n\n") + chunk("data: "+two+"\n\n") + "0\r\nTrailer: x\r\n\r\n", isOver: true, frames: []string{one, two}, says: "its stream has ended", lastID: "7", isResumable: true},
		"an id at last":             {text: stream + chunk("id: 7\ndata: "+one+"\n\n"), frames: []string{one}, says: "the connection ended in the middle of the response", lastID: "7"},
		"cut":                       {text: stream + chunk("id: 7\ndata: \n\ndata: "+one+"\n\n"), says: "its stream has ended", lastID: "7", cuts: true, isCut: true},
		"a kind of event":           {text: stream + chunk("event: message\ndata: "+one+"\n\n") + chunk("event: endpoint\ndata: /mcp\n\n") + chunk("event: x\nid: 8\nretry: 20\ndata: "+two+"\n\n"), frames: []string{one}, says: "the connection ended in the middle of the response", lastID: "8", retry: 20 * time.Millisecond},
		"a retry that is no number": {text: stream + chunk("retry: 20\n\n") + chunk("retry: soon\ndata: "+one+"\n\n"), frames: []string{one}, says: "the connection ended in the middle of the response", retry: 20 * time.Millisecond},
		"a stream up to the end":    {text: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + one + "\n\n", frames: []string{one}, says: "its stream has ended"},
		"a stream that is refused":  {text: "HTTP/1.1 400 Bad Request\r\nContent-Type: text/event-stream\r\nContent-Length: 7\r\n\r\nno data", isOver: true, says: "400 Bad Request: no data"},
		"a message in chunks":       {text: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(one[:9]) + chunk(one[9:]) + "0\r\n\r\n", isOver: true, frames: []string{one}, says: "there is no message in it"},
		"a refusal with a message":  {text: "HTTP/1.1 400 Bad Request\r\nContent-Length: 36\r\n\r\n" + one, isOver: true, frames: []string{one}, says: "400 Bad Request: " + one},
		"a batch":                   {text: "HTTP/1.1 200 OK\r\nContent-Length: 38\r\n\r\n[" + one + "]", isOver: true, frames: []string{"[" + one + "]"}, says: "there is no message in it"},
		"JSON that is no message":   {text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", isOver: true, says: "there is no message in it"},
		"no JSON":                   {text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", isOver: true, says: "there is no message in it"},
		"more than its length":      {text: "HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n" + one + "HTTP/1.1 500", isOver: true, frames: []string{one}, says: "there is no message in it"},
		"a size below zero":         {text: stream + "-1\r\n", says: `"-1" is no size of a chunk`},
		"half of a size":            {text: stream + "2", says: "the connection ended in the middle of the response"},
		"an id that is taken back":  {text: stream + chunk("id: 7\ndata: \n\n") + chunk("data: "+one+"\n\n") + chunk("id:\ndata: \n\n") + chunk("data: "+two+"\n\n"), frames: []string{one, two}, says: "the connection ended in the middle of the response", isResumable: true},
		"not HTTP at first":         {text: "hello\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", says: "it is no HTTP response: "},
		"an odd size":               {text: stream + "zz\r\n", says: `"zz" is no size of a chunk`},
		"too short":                 {text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", says: "the connection ended in the middle of the response"},
		"nothing":                   {text: "", says: "the connection ended without a response"},
		"not HTTP":                  {text: "hello\r\n\r\n", says: "it is no HTTP response: "},
		"half of a head":            {text: "HTTP/1.1 200 OK\r\n", says: "the connection ended in the middle of the response"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 1 << 20} {
				r := Response{Method: "POST", IsCutBehindID: test.cuts}
				for part := range slices.Chunk([]byte(test.text), size) {
					r.Take(part, false)
				}
				isOver := r.IsOver
				r.Take(nil, true)
				var frames []string
				for _, f := range r.Frames {
					frames = append(frames, string(f.Bytes))
				}
				if isOver != test.isOver || !slices.Equal(frames, test.frames) || !strings.HasPrefix(r.String(), test.says) || r.LastID != test.lastID ||
					r.IsResumable != test.isResumable || r.Retry != test.retry || r.IsCut != test.isCut {
					t.Errorf("in parts of %d: over %v, cut %v, %q, %s, last id %q, resumable %v, retry %v", size, isOver, r.IsCut, frames, r.String(), r.LastID, r.IsResumable, r.Retry)
				}
			}
		})
	}
}

// TestResponseTooLong holds that a response which cannot be held, or says that it cannot, is given up, and what
// comes of it then is dropped.
func TestResponseTooLong(t *testing.T) {
	for name, begin := range map[string]string{
		"announced":              "HTTP/1.1 200 OK\r\nContent-Length: 2147483000\r\n\r\n{",
		"announced of a chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n{",
		"a head":                 "HTTP/1.1 200 OK\r\nX: ",
		"the size of a chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
		"a line that is no head": "",
	} {
		r := Response{Method: "POST"}
		r.Take([]byte(begin), false)
		for range 40 {
			r.Take(bytes.Repeat([]byte("A"), 64<<10), false)
		}
		if !strings.HasSuffix(r.Broken, " MiB, and is not read") || len(r.rest)+len(r.body) > 0 {
			t.Errorf("%s: %q, %d bytes are held", name, r.Broken, len(r.rest)+len(r.body))
		}
	}
}
