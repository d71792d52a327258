package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// shot is a picture of the page: the server, the focus, and what stands there.
type shot struct {
	name   string
	server func(t testing.TB) *server
	focus  string
	want   string
	keys   string
}

// crashed is a session whose server writes a traceback and ends while a call is open.
const crashed = searches + `{"seq":6,"at":"9ms","kind":"stderr","text":"Traceback (most recent call last):"}
{"seq":7,"at":"9.1ms","kind":"stderr","text":"sqlite3.OperationalError: no such table: pages"}
{"seq":8,"at":"10ms","kind":"eof","dir":"s2c","data":{"by":"sender"}}
{"seq":9,"at":"11ms","kind":"exit","data":{"code":1}}
{"seq":10,"at":"12ms","kind":"closed","data":{"frames":4,"lost":0}}
`

// parallel is a session with calls that overlap, one of which has no answer.
func parallel() string {
	var lines strings.Builder
	seq, open := 4, []int{}
	put := func(ms int, dir, frame string) {
		seq++
		fmt.Fprintf(&lines, `{"seq":%d,"at":"%dms","dir":"%s","frame":%s}`+"\n", seq, ms, dir, frame)
	}
	for n := range 60 {
		put(100+n*500, "c2s", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool%d","arguments":{"n":%d}}}`, 10+n, n%4, n))
		if n != 20 {
			open = append(open, n)
		}
		for answers := 1; len(open) > 1+n%7; answers++ {
			put(100+n*500+(n%3)*150+answers, "s2c", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, 10+open[0]))
			open = open[1:]
		}
	}
	fmt.Fprintf(&lines, `{"seq":%d,"at":"95s","kind":"eof","dir":"c2s","data":{"by":"sender"}}`+"\n", seq+1)
	fmt.Fprintf(&lines, `{"seq":%d,"at":"95.1s","kind":"closed","data":{"frames":%d,"lost":0}}`+"\n", seq+2, seq-1)
	return lines.String()
}

// shots has what people look at.
func shots() []shot {
	of := func(names ...string) func(testing.TB) *server {
		return func(t testing.TB) *server {
			var paths []string
			for _, name := range names {
				paths = append(paths, fixture(name))
			}
			return view(t, paths...)
		}
	}
	made := func(lines string) func(testing.TB) *server {
		return func(t testing.TB) *server { return view(t, sessionFile(t, lines)) }
	}
	list := func(t testing.TB) *server {
		store := t.TempDir()
		output(t, store, "import", fixture("seed"), fixture("pysdk-594"), fixture("gosdk-897"), fixture("memory-2025-11-25"),
			fixture("crossing"), sessionFile(t, hung))
		return viewStore(t, store, "--dir")
	}
	live := func(t testing.TB) *server {
		r := record(t)
		r.handshake()
		r.fromClient(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		r.fromServer(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`)
		return viewStore(t, r.store)
	}
	whole := `one("#verdict") && one("#sequence .row.pick")`
	replayed := `one("#replay .verdict") && all("#replay g.step").length > 3`
	return []shot{
		{"list", list, "", `all("#sessions tr[data-row]").length === 6`, ""},
		{"hung", made(hung), "", whole, ""},
		{"may-be-stuck", of("pysdk-594"), "", whole, ""},
		{"crash", made(crashed), "", whole, ""},
		{"sequence", of("seed"), "at=5", whole, ""},
		{"findings", of("gosdk-897"), "at=12", whole, ""},
		{"http", of("progress-2026-07-28"), "", whole, ""},
		{"waterfall", made(parallel()), "", whole, ""},
		{"range", made(parallel()), "range=40-80&at=50", whole, ""},
		{"ring", of("pysdk-594"), "view=replay&client=python-sdk@1.3", replayed + ` && one("#ring")`, ""},
		{"step", of("seed"), "view=replay&client=notification-queue=2&step=5", replayed, ""},
		{"passing", of("seed"), "view=replay", replayed, ""},
		{"beside", of("seed"), "view=beside&client=notification-queue=0&client2=independent", `all("#beside g.apart").length === 2`, ""},
		{"compare", of("memory-2025-03-26", "memory-2025-06-18"), "view=compare", `one("#compare tr.pick")`, ""},
		{"live", live, "", `one("#verdict.fail")`, ""},
		{"help", of("seed"), "at=5", whole + ` && one("dialog#keys").open`, "?"},
	}
}

// TestShots writes pictures of the page into the folder MCPREC_SHOTS, for eyes: both themes, windows of three
// widths, one of them at 200 %, and on paper. MCPREC_SHOT is the one that is wanted; without it, all are.
func TestShots(t *testing.T) {
	folder := os.Getenv("MCPREC_SHOTS")
	if folder == "" {
		return // nobody wants to look
	}
	needBrowser(t)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	looks := []struct {
		name          string
		width, height int64
		scale         float64
	}{{"1440", 1440, 900, 1}, {"1024", 1024, 768, 1}, {"400", 400, 800, 1}, {"zoomed", 720, 450, 2}}
	for _, c := range shots() {
		if wanted := os.Getenv("MCPREC_SHOT"); wanted != "" && wanted != c.name {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			page := c.server(t) // ends after the tab, which else would miss it
			p := newTab(t)
			show := func(theme string) {
				p.open(page.at(strings.TrimPrefix(c.focus+"&theme="+theme, "&")))
				p.press(c.keys)
				p.until(c.want)
			}
			for _, theme := range []string{"light", "dark"} {
				for _, look := range looks {
					p.do(chromedp.EmulateViewport(look.width, look.height, chromedp.EmulateScale(look.scale)))
					show(theme)
					p.shoot(filepath.Join(folder, c.name+"-"+look.name+"-"+theme+".png"))
				}
			}
			p.do(chromedp.EmulateViewport(800, 1130))
			show("light")
			value[bool](p, `dispatchEvent(new Event("beforeprint"))`)
			p.media("print", nil)
			p.shoot(filepath.Join(folder, c.name+"-paper.png"))
		})
	}
}

// shoot writes what the tab shows, once it has drawn all that it asked for.
func (p *tab) shoot(path string) {
	p.t.Helper()
	p.until(`!one("html").dataset.busy`)
	value[bool](p, `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`)
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, picture, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
