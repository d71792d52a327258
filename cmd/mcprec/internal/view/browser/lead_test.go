package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// handshake is how the sessions of these tests begin: events 1 to 4.
const handshake = `{"mcprec":1,"id":"01a20000-0000-7000-8000-000000000001","start":"2026-11-23T00:00:00Z","transport":"stdio","command":["serve"]}
{"seq":2,"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}}
{"seq":3,"at":"2ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}}
{"seq":4,"at":"3ms","dir":"c2s","frame":{"jsonrpc":"2.0","method":"notifications/initialized"}}
`

// searches is a call of the tool search: event 5.
const searches = `{"seq":5,"at":"4ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"q":"a"}}}}
`

// sessionFile writes a session that begins with the handshake.
func sessionFile(t testing.TB, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, []byte(handshake+lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hung is a session whose client waits for two minutes.
const hung = searches + `{"seq":6,"at":"120.004s","kind":"eof","dir":"c2s","data":{"by":"sender"}}
{"seq":7,"at":"120.005s","kind":"exit","data":{"code":0}}
{"seq":8,"at":"120.006s","kind":"closed","data":{"frames":4,"lost":0}}
`

// TestVerdict: the bar under the header says how the session stands, and the page opens at the event that
// answers, selected and in sight; so does the title of the tab.
func TestVerdict(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, c := range []struct{ name, path, tone, says, at, title string }{
		{"hung", sessionFile(t, hung), "fail", `Hung.*The client waited 2m0s for the server to answer tools/call "search" \(id 2, #5\)`, "5", "hung · search · mcprec"},
		{"silent", fixture("pysdk-594"), "fail", `May be stuck.*the client was silent for 14s`, "5", "may be stuck · count · mcprec"},
		{"dead", fixture("mcpgo-714"), "fail", `No answer.*no answer can come any more\. The server closed its output`, "8", "no answer · work · mcprec"},
		{"crash", sessionFile(t, searches+`{"seq":6,"at":"5ms","kind":"eof","dir":"s2c","data":{"by":"sender"}}
{"seq":7,"at":"6ms","kind":"exit","data":{"code":1}}
{"seq":8,"at":"7ms","kind":"closed","data":{"frames":4,"lost":0}}
`), "fail", `Crashed.*The server ended with exit status 1 before it answered`, "5", "crashed · search · mcprec"},
		{"cut", sessionFile(t, ""), "note", `Cut short.*the recording stops at #4`, "4", "cut short · notifications/initialized · mcprec"},
		{"asked to end", fixture("memory-2024-11-05"), "pass", `Fine`, "2", "fine · memory 2024-11-05 · mcprec"},
		{"failed", sessionFile(t, `{"seq":5,"at":"6ms","kind":"exit","data":{"code":3}}
{"seq":6,"at":"7ms","kind":"closed","data":{"frames":3,"lost":0}}
`), "fail", `Server failed.*it ended with exit status 3`, "5", "server failed · session.jsonl · mcprec"},
		{"fine", fixture("seed"), "pass", `Fine.*2 calls, none left open`, "2", "fine · seed · mcprec"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTab(t)
			p.open(view(t, c.path).at(""))
			p.until(`one("#verdict."+%s) && new RegExp(%s).test(one("#verdict").textContent)`, c.tone, c.says)
			p.until(`one("#sequence .row.pick").dataset.seq === %s && new URLSearchParams(location.hash.slice(1)).get("at") === %s`, c.at, c.at)
			p.until(`document.title === %s`, c.title)
		})
	}
}

// TestVerdictOfReplay: a session that hung is not green in the view Replay, also under models that pass, as
// mcprec replay says; its call is marked in the drawing.
func TestVerdictOfReplay(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, c := range []struct{ path, says, call string }{
		{fixture("mcpgo-714"), "HUNG", "8"},
		{fixture("gosdk-897"), "HUNG", "8"},
		{fixture("gosdk-1061"), "UNANSWERED", "8"},
		{sessionFile(t, hung), "HUNG", "5"},
	} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			p := newTab(t)
			p.open(view(t, c.path).at("view=replay"))
			p.until(`one("#replay .verdict.hang").textContent.startsWith(%s) && !one("#replay .verdict.pass")`, c.says)
			p.until(`one("#replay g[data-seq='" + %s + "'] .arrow.fault")`, c.call)
			said := string(output(t, t.TempDir(), "replay", c.path))
			if !strings.HasPrefix(said, c.says) {
				t.Errorf("the page says %s, the command\n%s", c.says, said)
			}
		})
	}
}

// TestOneClickToTheRing: from the verdict of a session that hung, one click leads to the ring of the model that
// explains it, and from each box of the ring to its message, and back.
func TestOneClickToTheRing(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("pysdk-594")).at(""))
	p.clickText("#verdict button", "Who waits for whom")
	p.until(`one("#ring.now") && one("#replay select[name=client]").value === "python-sdk@1.3"`)
	p.until(`one("#told.hang").textContent.includes("A client such as python-sdk 1.3 hangs here")`)
	if !value[bool](p, `all("#side dt").some((e) => e.textContent === "client python-sdk@1.3" && e.nextSibling.textContent.length > 20)`) {
		t.Errorf("the side does not say what python-sdk@1.3 is: %q", p.text("#side"))
	}
	boxes := value[[]string](p, `all("#ring .node").map((box) => box.dataset.jump || "")`)
	if len(boxes) != 5 {
		t.Errorf("the ring has the boxes %q", boxes)
	}
	for n, seq := range boxes {
		if seq == "" {
			t.Fatalf("box %d leads nowhere: %q", n, boxes)
		}
	}
	p.until(`all("#ring .wait").every((arrow) => arrow.dataset.jump)`)
	p.click("#ring .node[data-jump='6'] rect")
	p.until(`one("#sequence .row.pick").dataset.seq === "6"`)
	value[bool](p, `(history.back(), true)`)
	p.until(`one("#replay") && one("#ring.now")`)
}

// TestToldSteps: each step of a replay is told in a sentence.
func TestToldSteps(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, "--client", "notification-queue=0", fixture("seed")).at(""))
	p.until(`one("#replay .verdict.hang")`)
	p.press("g")
	p.until(`one("#told").textContent === "Nothing has been sent yet."`)
	for range 5 {
		p.press("j")
	}
	p.until(`/^The server sends #6.*; the client reads it, and waits for room in its notification queue of 0: it reads no more\.$/.test(one("#told").textContent)`)
	p.press("j")
	p.until(`/^The server writes #7.*, and waits until the client reads\.$/.test(one("#told").textContent)`)
}

// TestFits: of a session that passes, the page names the models under which it hangs, and shows them.
func TestFits(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at("view=replay"))
	p.until(`one("#replay .verdict.pass") && all(".fits button").some((b) => b.textContent.includes("python-sdk"))`)
	p.click(".fits button")
	p.until(`one("#replay .verdict.hang") && one("#ring")`)
}
