// Streamable HTTP: a tool reports its progress three times and returns. Not all of the
// reports reach the client, and those of a call come on the stream of another.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const rounds, reports = 500, 3

func main() {
	s := server.NewMCPServer("repro", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("work"), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range reports {
			err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1})
			if err != nil {
				panic(err)
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	web := httptest.NewServer(server.NewStreamableHTTPServer(s))
	defer web.Close()
	session := post(web.URL, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`).Header.Get("Mcp-Session-Id")
	post(web.URL, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)

	lost, disordered := 0, 0
	for i := range rounds { // one call at a time
		own, _, inOrder := call(web.URL, session, i+1)
		lost += reports - own
		if !inOrder {
			disordered++
		}
	}
	fmt.Printf("one call at a time: %d of %d reports never came; in %d of %d calls they came out of order\n", lost, rounds*reports, disordered, rounds)

	var lock sync.Mutex
	var wait sync.WaitGroup
	got, strange := 0, 0
	for i := range rounds { // two at a time
		for j := range 2 {
			wait.Go(func() {
				own, others, _ := call(web.URL, session, 10_000+2*i+j)
				lock.Lock()
				defer lock.Unlock()
				got += own + others
				strange += others
			})
		}
		wait.Wait()
	}
	fmt.Printf("two calls at a time: %d of %d never came, %d came on the stream of the other call\n", 2*rounds*reports-got, 2*rounds*reports, strange)
	if lost > 0 || strange > 0 {
		os.Exit(1)
	}
}

// call counts the reports on its stream that are its own, and those of other calls.
func call(url, session string, id int) (own, others int, inOrder bool) {
	token := fmt.Sprintf(`"progressToken":"token %d"`, id)
	resp := post(url, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","_meta":{%s}}}`, id, token))
	inOrder = true
	last := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch line := lines.Text(); {
		case !strings.Contains(line, "notifications/progress"):
		case strings.Contains(line, token):
			own++
			at := line[strings.Index(line, `"progress":`):][:12]
			inOrder = inOrder && at > last
			last = at
		default:
			others++
		}
	}
	return own, others, inOrder
}

func post(url, session, body string) *http.Response {
	req, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp
}
