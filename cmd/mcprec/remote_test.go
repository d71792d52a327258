//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
)

// fakeRemote is an MCP server over HTTP and its client, with mcprec record --target in
// between, which gets the arguments:
//
//	fakeremote MODE [FLAG]...
//
//	session    a session with an id, a call that answers with progress, its end
//	probing    the same, after the client has asked what the server is
//	stateless  two calls without a session id, a probe of a web page, a login
//	sse        HTTP+SSE: the endpoint is told by an event
//	bare       a session of HTTP+SSE whose client accepts anything
//	down       a target that is not there
//
// It prints what the client got, and exits as mcprec did.
func fakeRemote() {
	server := httptest.NewServer(http.HandlerFunc(remoteServer))
	target := map[string]string{"sse": "/sse", "bare": "/bare", "down": "/mcp"}[os.Args[1]]
	if target == "" {
		target = "/mcp?api_key=open77sesame"
	}
	base := server.URL
	if os.Args[1] == "down" { // a port that is in use, and at which nobody listens
		loopback := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
		conn, err := loopback.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		base = "http://" + conn.LocalAddr().String()
	}
	mcprec := exec.Command("mcprec", append([]string{"record", "--target", base + target, "--listen", "127.0.0.1:0"}, os.Args[2:]...)...)
	mcprec.Stderr = os.Stderr
	out, err := mcprec.StdoutPipe()
	if err == nil {
		err = mcprec.Start()
	}
	if err != nil {
		panic(err)
	}
	url, _ := bufio.NewReader(out).ReadString('\n')
	if url = strings.TrimSpace(url); url != "" {
		remoteClient(os.Args[1], url)
	}
	_ = mcprec.Process.Signal(os.Interrupt)
	var exit *exec.ExitError
	if err := mcprec.Wait(); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
}

// bareAnswers are what the stream of HTTP+SSE at /bare is to say.
var bareAnswers = make(chan string, 2)

func remoteServer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	text := string(body)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/sse":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: http://%s/message?id=7\n\n", r.Host)
	case r.URL.Path == "/bare":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /bare/message?id=7\n\n")
		_ = http.NewResponseController(w).Flush()
		for range cap(bareAnswers) {
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", <-bareAnswers)
			_ = http.NewResponseController(w).Flush()
		}
	case r.URL.Path == "/bare/message":
		w.WriteHeader(http.StatusAccepted)
		switch {
		case strings.Contains(text, `"initialize"`):
			bareAnswers <- `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
		case strings.Contains(text, `"id":`):
			bareAnswers <- `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`
		}
	case r.URL.Path == "/token":
		w.Header().Set("Location", "http://localhost/callback?code=c0de77sesame9x&state=1")
		fmt.Fprint(w, `{"access_token":"acc3ss-sesame-7","refresh_token":"r3fresh-sesame-7","expires_in":3600}`)
	case r.Method == http.MethodDelete:
	case strings.Contains(text, `"initialize"`) && r.Header.Get("Authorization") != "":
		w.Header().Set("Mcp-Session-Id", "s1")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	case strings.Contains(text, "progressToken"):
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 1\nretry: 10\ndata: \n\n")
		fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5,\"progress\":1}}\n\n")
		fmt.Fprint(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
	default:
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	}
}

func remoteClient(mode, url string) {
	origin := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(url, "/mcp"), "/sse"), "/bare")
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	switch mode {
	case "session", "probing":
		if mode == "probing" {
			remoteSay("POST", url, "", `{"jsonrpc":"2.0","id":3,"method":"server/discover"}`)
		}
		remoteSay("POST", url, "", initialize, "Authorization", "Bearer b3arer-sesame-7")
		remoteSay("POST", url, "s1", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":5}}}`)
		remoteSay("DELETE", url, "s1", "")
	case "stateless":
		remoteSay("POST", url, "", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		remoteSay("POST", url, "", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Origin", "https://evil.example")
		remoteSay("POST", origin+"/token", "", "grant_type=authorization_code&code=c0de-sesame-7&code_verifier=v3rifier-sesame-7&client_secret=s3cret-sesame-7",
			"Accept", "application/json", "Content-Type", "application/x-www-form-urlencoded")
	case "sse":
		remoteSay("GET", url, "", "")
	case "bare":
		remoteBare(url, origin)
	case "down":
		remoteSay("POST", url, "", initialize)
	}
}

// remoteBare is a client of HTTP+SSE as one writes it with http.Get.
func remoteBare(url, origin string) {
	stream, err := http.Get(url)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	next := func(want string) {
		for lines.Scan() && !strings.HasPrefix(lines.Text(), want) {
		}
		fmt.Println(lines.Text())
	}
	next("data: /bare")
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		resp, err := http.Post(origin+"/bare/message?id=7", "application/json", strings.NewReader(message))
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		if strings.Contains(message, `"id":`) {
			next("data: {")
		}
	}
}

// remoteSay makes a request and prints the answer.
func remoteSay(method, url, session, body string, header ...string) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	fmt.Printf("%d %s\n", resp.StatusCode, strings.TrimSpace(string(b)))
}
