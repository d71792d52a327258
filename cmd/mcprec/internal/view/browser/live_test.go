package browser

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// peerSocket names the socket at which this program, run as a server under mcprec record, is told
// by a test what to say.
const peerSocket = "MCPREC_BROWSER_PEER"

// actAsPeer is the server: it writes what comes from the socket to standard output, and to the
// socket what comes from standard input.
func actAsPeer(address string) error {
	conn, err := net.Dial("unix", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() { _, _ = io.Copy(os.Stdout, conn) }() // ends with the process
	_, err = io.Copy(conn, os.Stdin)
	return err
}

// recording is a running mcprec record whose client and server are the test.
type recording struct {
	t      testing.TB
	store  string
	client io.WriteCloser // of the recorder's standard input
	heard  *bufio.Reader  // of its standard output
	server net.Conn       // to the server's standard output
	came   *bufio.Reader  // from the server's standard input
	end    func()
}

// record starts a recording in a new store, and ends it with the test.
func record(t testing.TB) *recording {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "peer") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	r := &recording{t: t, store: t.TempDir()}
	cmd := command(r.store, "record", "--label", "live", "--", self)
	cmd.Env = append(cmd.Env, peerSocket+"="+listener.Addr().String())
	var stderr locked
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		r.client, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		r.server, err = listener.Accept()
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	r.heard, r.came = bufio.NewReader(stdout), bufio.NewReader(r.server)
	r.end = sync.OnceFunc(func() {
		r.client.Close()
		_, _ = io.Copy(io.Discard, r.heard)
		if err := cmd.Wait(); err != nil {
			t.Errorf("record: %v\n%s", err, stderr.String())
		}
		r.server.Close()
	})
	t.Cleanup(r.end)
	return r
}

// fromClient sends a frame of the client, and returns when the server has it.
func (r *recording) fromClient(frame string) {
	r.t.Helper()
	pass(r.t, r.client, r.came, frame)
}

// fromServer sends a frame of the server, and returns when the client has it.
func (r *recording) fromServer(frame string) {
	r.t.Helper()
	pass(r.t, r.server, r.heard, frame)
}

// pass writes a line and reads it at the other end.
func pass(t testing.TB, to io.Writer, from *bufio.Reader, frame string) {
	t.Helper()
	if _, err := io.WriteString(to, frame+"\n"); err != nil {
		t.Fatal(err)
	}
	got, err := from.ReadString('\n')
	if err != nil || got != frame+"\n" {
		t.Fatalf("%q arrived as %q: %v", frame, got, err)
	}
}

// handshake opens the MCP session.
func (r *recording) handshake() {
	r.t.Helper()
	r.fromClient(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	r.fromServer(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
	r.fromClient(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// TestLive: a session grows on the page while it is recorded, and the page says when it ends.
func TestLive(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	r := record(t)
	r.handshake()
	page := viewStore(t, r.store) // ends after the tab, which else would miss it
	p := newTab(t)
	p.open(page.at(""))
	p.until(`one("header .state").textContent === "live"`)
	holds := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			p.until(`all("#sequence g.row").some((row) => row.textContent.includes(%s))`, text)
		}
	}
	holds("initialize", "notifications/initialized")
	var called []string // and not yet seen: the page draws a few times a second
	for n := 1; n <= 40; n++ {
		r.fromClient(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool%d","arguments":{}}}`, n, n))
		called = append(called, fmt.Sprintf("tool%d\"", n))
		if n%5 == 0 || n < 4 {
			holds(called...)
			called = nil
		}
		r.fromServer(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, n))
		if n%10 == 0 {
			p.until(`one(".row.pick") && Number(one(".row.pick").dataset.seq) >= %s`, 3+2*n) // the focus stands at the end
		}
	}
	p.press("g")
	p.until(`one(".row.pick").dataset.seq === "1"`)
	r.fromClient(`{"jsonrpc":"2.0","id":99,"method":"ping"}`)
	r.fromServer(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	p.until(`/ of (\d+)$/.exec(one("footer .at").textContent)[1] >= 85`)
	p.do(chromedp.EmulateViewport(400, 800)) // the sign that nothing is followed has room
	p.until(`innerWidth === 400 && all("footer > *").every((e) => e.scrollWidth <= e.clientWidth + 1 && e.getBoundingClientRect().right <= 400)`)
	p.do(chromedp.EmulateViewport(1360, 860))
	if at := value[string](p, `one(".row.pick").dataset.seq`); at != "1" {
		t.Errorf("the focus moved to #%s, want it where the reader put it", at)
	}
	r.end()
	p.until(`!document.querySelector("header .state.live")`)
	p.press("G")
	holds("ping")
}

// TestLiveWhy: a session that hangs now says why, and no longer once it goes on.
func TestLiveWhy(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	r := record(t)
	r.handshake()
	page := viewStore(t, r.store) // ends after the tab, which else would miss it
	p := newTab(t)
	p.open(page.at(""))
	r.fromClient(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
	r.fromServer(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`)
	p.until(`one("#why") && one("#why").textContent.includes("sampling/createMessage")`)
	harmless(p, "why")
	if said := string(output(t, r.store, "why", "--all", "--after", "0s")); said == "" {
		t.Error("mcprec why says nothing of the session")
	}
	p.click("#why .jump")
	p.until(`one("#payload").dataset.seq`)
	r.fromClient(`{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}`)
	r.fromServer(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	p.until(`!one("#why")`)
}
