//go:build amd64 || arm64

package external

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// httpClientEnv makes the test binary a client over HTTP with the fault that its value names; its argument is the URL.
const httpClientEnv = "MCPREC_EXTERNAL_HTTP_CLIENT"

// httpCaller is the client of the counter over HTTP, with a fault.
type httpCaller struct {
	fault, url, session string

	mu      sync.Mutex
	said    []string
	alone   sync.WaitGroup
	isEnded bool // guarded by mu
}

// errGone is the error of a call whose session the server does not know.
var errGone = errors.New("404 for the session")

func callOverHTTP(fault, url string) (status int) {
	c := &httpCaller{fault: fault, url: url}
	err := c.run()
	for errors.Is(err, errGone) && fault != "keeps its session" {
		c.session = ""
		err = c.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(strings.Join(c.said, " "))
	return 0
}

func (c *httpCaller) run() error {
	c.said = nil
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`
	if err := c.post(hello, "0"); err != nil {
		return err
	}
	if err := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""); err != nil {
		return err
	}
	session := c.session
	heard := make(chan error, 1)
	c.alone.Go(func() { heard <- c.listen(session) })
	for id := 1; id <= 2; id++ {
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","arguments":{"from":""},"_meta":{"progressToken":"t%d"}}}`, id, id)
		if err := c.post(call, fmt.Sprint(id)); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.isEnded = true
	c.mu.Unlock()
	response, err := c.ask(http.MethodDelete, "", "")
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if c.fault == "lingers" {
		sleepForEver()
	}
	return <-heard
}

// ask makes a request.
func (c *httpCaller) ask(method, body, last string) (*http.Response, error) {
	request, err := http.NewRequest(method, c.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", mcp.MediaJSON)
	request.Header.Set("Accept", mcp.MediaJSON+", "+mcp.MediaEventStream)
	if c.session != "" {
		request.Header.Set(mcp.HeaderSessionID, c.session)
	}
	if last != "" {
		request.Header.Set(mcp.HeaderLastEventID, last)
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil && response.StatusCode == http.StatusNotFound && c.session != "" && method != http.MethodDelete {
		_ = response.Body.Close()
		return nil, errGone
	}
	return response, err
}

// post sends a message and reads until the answer to a request has come.
func (c *httpCaller) post(message, id string) error {
	response, err := c.ask(http.MethodPost, message, "")
	if err != nil {
		return err
	}
	if session := response.Header.Get(mcp.HeaderSessionID); session != "" {
		c.session = session
	}
	last := ""
	for times := 0; ; times++ {
		isAnswered := false
		if isAnswered, last, err = c.read(response, id, last); err != nil || isAnswered {
			return err
		}
		switch {
		case last == "" && c.fault == "waits on":
			sleepForEver()
		case last == "":
			return errors.New("the stream has ended without the answer")
		case times == 1 && c.fault == "gives up":
			return errors.New("the stream has ended twice without the answer")
		case times == 1 && c.fault == "forgets where":
			last = ""
		}
		if response, err = c.ask(http.MethodGet, "", last); err != nil {
			return err
		}
		if response.StatusCode == http.StatusConflict && c.fault == "forgets where" {
			sleepForEver()
		}
	}
}

// read reads a response, and reports whether it has the answer to a request, and the id of its last event.
func (c *httpCaller) read(response *http.Response, id, last string) (isAnswered bool, lastID string, err error) {
	defer func() { _ = response.Body.Close() }()
	switch kind := response.Header.Get("Content-Type"); {
	case response.StatusCode == http.StatusAccepted && id == "":
		return true, last, nil
	case response.StatusCode != http.StatusOK:
		return false, last, fmt.Errorf("status %d", response.StatusCode)
	case kind == mcp.MediaJSON:
		body, err := io.ReadAll(response.Body)
		return c.hear(body, id), last, err
	case c.fault == "reads JSON only" && id == "2":
		return false, last, errors.New("unexpected content type")
	}
	var scanner streamable.EventScanner
	var page [64 << 10]byte
	var data []byte
	for {
		count, err := response.Body.Read(page[:])
		found := scanner.Scan(page[:count])
		for i, event := range found {
			data = append(data, event.Data...)
			if event.More {
				continue
			}
			if fields := event.Fields(); fields.HasID {
				last = fields.ID
			}
			whole := data
			data = nil
			isLost := c.fault == "loses progress" && i+1 < len(found) && bytes.Contains(whole, []byte("notifications/progress"))
			if len(whole) > 0 && !isLost && c.hear(whole, id) {
				return true, last, nil
			}
		}
		if c.fault == "takes chunks for events" && count > 0 && !bytes.HasSuffix(page[:count], []byte("\n\n")) {
			panic("unexpected end of JSON input")
		}
		if err != nil {
			return false, last, nil // which is no failure of the call as long as it can be resumed
		}
	}
}

// hear takes a message, and reports whether it is the answer to a request.
func (c *httpCaller) hear(body []byte, id string) bool {
	for _, m := range timeline.MessagesOf(transport.Frame{Bytes: body}) {
		switch {
		case m.Kind() == transport.Response && string(m.ID) == id:
			c.note("result " + string(m.Result))
			return true
		case m.Kind() == transport.Request && m.Method == "ping" && c.fault == "no pong":
		case m.Kind() == transport.Request:
			result := `{}`
			if m.Method == mcp.MethodListRoots {
				result = `{"roots":[]}`
			}
			_ = c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result), "")
		case m.Method == "notifications/progress":
			c.note("progress")
		}
	}
	return false
}

func (c *httpCaller) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, what)
}

// listen reads the standalone stream until the client has ended its session, and comes back to it.
func (c *httpCaller) listen(session string) error {
	last := ""
	for {
		response, err := c.ask(http.MethodGet, "", last)
		c.mu.Lock()
		isEnded := c.isEnded
		c.mu.Unlock()
		if err != nil || isEnded || session != c.session {
			return nil
		}
		switch {
		case response.StatusCode == http.StatusMethodNotAllowed && c.fault == "wants a stream":
			fmt.Fprintln(os.Stderr, "405")
			os.Exit(3)
		case response.StatusCode != http.StatusOK:
			_ = response.Body.Close()
			return nil
		}
		_, last, _ = c.read(response, "none", last)
		c.mu.Lock()
		isEnded = c.isEnded
		c.mu.Unlock()
		if isEnded {
			return nil
		}
		if c.fault == "dies with its stream" {
			panic("the stream has ended")
		}
	}
}

// counterOverHTTP is the client with a fault.
func counterOverHTTP(fault string) Client {
	return Client{Command: []string{os.Args[0], urlMark}, Env: []string{httpClientEnv + "=" + fault}}
}

// TestHTTPClientFaults holds what is found of clients over HTTP with a fault each, by the order that shows it.
func TestHTTPClientFaults(t *testing.T) {
	const alone = ", none on a timer, and nothing could wake it; reproduced 3 times out of 3"
	for fault, want := range map[string]struct {
		kind  Fault
		token string
		says  []string
	}{
		"waits on":                {Hang, "x1.drop9", []string{"HANG (observed; not a proof): the response has ended without the answer, and it waits for the answer to ", "  the response ends in place of the answer to "}},
		"forgets where":           {Hang, "x1.poll9@2", []string{"HANG (observed; not a proof): it came back by the id of an event, and the next time without it, and it waits for the answer to ", "  the response ends 2 times in front of the answer to "}},
		"gives up":                {Died, "x1.poll9@2", []string{"DIED: the client ended: exit status 1: the stream has ended twice without the answer", "  the response ends 2 times in front of the answer to "}},
		"keeps its session":       {NoSession, "x1.forget12", []string{"NO NEW SESSION: the client got 404 for its session, and ended without beginning another: exit status 1: 404 for the session", "  the server has forgotten the session: 404 in place of "}},
		"reads JSON only":         {Died, "x1.form12", []string{"DIED: the client ended: exit status 1: unexpected content type", "comes as a stream of events if the recorded one was application/json"}},
		"wants a stream":          {Died, "x1.nostream3", []string{"DIED: the client ended: exit status 3: 405", "  the server has no standalone stream: a GET gets 405"}},
		"dies with its stream":    {Died, "x1.endalone9", []string{"DIED: the client ended: exit status 2: panic: the stream has ended", "  the standalone stream ends in front of "}},
		"lingers":                 {Lingers, "x1.default", []string{"DOES NOT EXIT when it has deleted its session: all ", alone, "  in the recorded order, without the pauses of the recording\n  token: x1.default"}},
		"no pong":                 {Hang, "x1.ping9", []string{"HANG (observed; not a proof): it does not answer a ping; ", "  the server sends a ping in front of "}},
		"takes chunks for events": {Died, "x1.split9@20", []string{"DIED: the client ended: exit status 2: panic: unexpected end of JSON input", " goes out in two writes, split at byte "}},
		"loses progress":          {Different, "x1.join8-9", []string{"DIFFERENT OUTPUT: the client prints otherwise than in the recorded order; reproduced 3 times out of 3", " arrive together"}},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report, err := ExploreClient(counterOverHTTP(fault), callerSession(), Options{Token: want.token, SameOutput: want.kind == Different})
			text := report.Text()
			if err != nil || len(report.Findings) != 1 {
				t.Fatalf("%v, found:\n%s", err, text)
			}
			for _, part := range want.says {
				if !strings.Contains(text, part) {
					t.Errorf("found:\n%swithout %q", text, part)
				}
			}
			if found := report.Findings[0]; found.Kind != want.kind || !found.Certain || found.Held != times || found.Peer != "client" || found.Token != want.token {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestHTTPClientSearch holds that a search comes upon what only an order over HTTP shows.
func TestHTTPClientSearch(t *testing.T) {
	for fault, token := range map[string]string{"gives up": "x1.poll", "keeps its session": "x1.forget"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report, err := ExploreClient(counterOverHTTP(fault), callerSession(), Options{Schedules: 34})
			if err != nil || !slices.ContainsFunc(report.Findings, func(f Finding) bool { return strings.HasPrefix(f.Token, token) }) {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// TestHealthyHTTPClient holds that nothing is found of a client over HTTP without a fault, whatever it prints.
func TestHealthyHTTPClient(t *testing.T) {
	report, err := ExploreClient(counterOverHTTP("healthy"), callerSession(), Options{Schedules: 70, SameOutput: true})
	if err != nil || !report.Passed() || len(report.NotHeld) > 0 || report.Played < 60 {
		t.Errorf("%v, found:\n%s", err, report.Text())
	}
}
