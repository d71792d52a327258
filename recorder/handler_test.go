package recorder

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// tapHandler serves the handler's tapped face.
func tapHandler(t *testing.T, h http.HandlerFunc) *tapped {
	t.Helper()
	tt := &tapped{}
	tt.tap = NewHTTP(HTTPOptions{Open: tt.open(t), Done: tt.done})
	tt.server = httptest.NewServer(tt.tap.Handler(h))
	tt.proxy, tt.url = tt.server, tt.server.URL+"/mcp"
	tt.server.Config.ErrorLog = nil
	t.Cleanup(tt.close)
	return tt
}

func TestHandler(t *testing.T) {
	tt := tapHandler(t, sessions())
	call(t, "POST", tt.url, "", `{"id":1,"method":"initialize"}`)
	call(t, "POST", tt.url, "s1", `{"method":"initialized"}`)
	call(t, "GET", tt.url, "s1", "")
	call(t, "DELETE", tt.url, "s1", "")
	tt.want(t, `
1 c2s request POST /mcp application/json
1 c2s {"id":1,"method":"initialize"}
1 s2c response 200 s1 application/json
1 s2c {"id":1}
1 s2c end
2 c2s request POST /mcp s1 application/json
2 c2s {"method":"initialized"}
2 s2c response 202
2 s2c end
3 c2s request GET /mcp s1
3 s2c response 200 text/event-stream
3 s2c event ["id: 1" "data: "]
3 s2c end
4 c2s request DELETE /mcp s1
4 s2c response 200
4 s2c end
`)
}

// A handler that flushes, one that writes nothing, and one that gives up.
func TestHandlerEnds(t *testing.T) {
	tt := tapHandler(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/flush":
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "data: 1\n\n")
		case "/abort":
			sse(w, "data: 2\n\n")
			panic(http.ErrAbortHandler)
		}
	})
	for _, path := range []string{"/flush", "/nothing", "/abort"} {
		resp := do(t, "GET", tt.server.URL+path, "s", "")
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	tt.want(t, `
0  note {"text":"begins in the middle: the beginning of MCP session s was not seen"}
1 c2s request GET /flush s
1 s2c response 200 text/event-stream
1 s2c event ["data: "]
1 s2c 1
1 s2c end
2 c2s request GET /nothing s
2 s2c response 200
2 s2c end
3 c2s request GET /abort s
3 s2c response 200 text/event-stream
3 s2c event ["data: "]
3 s2c 2
3 s2c broken because
`)
}
