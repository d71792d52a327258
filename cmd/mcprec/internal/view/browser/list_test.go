package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// listOf starts the list of a store with sessions: seed, crossing, and one that hung.
func listOf(t *testing.T) *server {
	t.Helper()
	store := t.TempDir()
	path := sessionFile(t, hung)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(t.TempDir(), "hung.jsonl")
	labelled := strings.Replace(string(text), `"transport":"stdio"`, `"transport":"stdio","label":"the hung one"`, 1)
	if err := os.WriteFile(named, []byte(labelled), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, store, "import", fixture("seed"), fixture("crossing"), named)
	return viewStore(t, store, "--dir")
}

// TestList: the stuck sessions stand first, a line counts them, columns sort, and hung leaves the others out.
func TestList(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(listOf(t).at(""))
	p.until(`all("#sessions tr[data-row]").length === 3`)
	p.until(`one("#sessions tr[data-row]").textContent.includes("the hung one")`)
	for _, width := range []int64{1024, 400} { // how a session stands is in sight, and the line that counts them
		p.do(chromedp.EmulateViewport(width, 768))
		p.until(`one("#sessions td.fault").textContent.includes("hung") && one("#sessions td.fault").getBoundingClientRect().right <= innerWidth`)
		p.until(`one("header .what").checkVisibility()`)
	}
	p.do(chromedp.EmulateViewport(1360, 860))
	p.until(`one("header .what").textContent === "3 sessions, 1 hung, 1 with errors" || one("header .what").textContent === "3 sessions, 1 hung"`)
	p.clickText("#sessions th button", "session")
	p.until(`all("#sessions tr[data-row]").map((row) => row.cells[1].textContent).join() === "roots crossing a call,seed,the hung one" &&
		one("#sessions th[aria-sort=ascending]")`)
	p.clickText("#sessions th button", "session ↑")
	p.until(`one("#sessions tr[data-row]").textContent.includes("the hung one") && location.hash.includes("sort=-session")`)
	p.clickText("#sessions button", "hung")
	p.until(`all("#sessions tr[data-row]").length === 1 && location.hash.includes("filter=hung")`)
	p.click("#sessions tr[data-row] td:nth-child(4)")
	p.until(`one("#verdict.fail") && one("#sequence .row.pick").dataset.seq === "5"`)
	p.click("#back") // to where the reader was
	p.until(`all("#sessions tr[data-row]").length === 1 && location.hash.includes("filter=hung")`)
}

// TestChooseTwo: two sessions of the list that are ticked are compared; n goes to what differs, and from there to the
// event in A or in B.
func TestChooseTwo(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(listOf(t).at("sort=session"))
	p.until(`all("#sessions tr[data-row]").length === 3 && one("#sessions tr[data-row]").textContent.includes("crossing")`)
	p.click("#sessions tr[data-row='1'] input")
	p.click("#sessions tr[data-row='2'] input")
	p.clickText("#sessions button", "Compare 2 of 2")
	p.until(`one("#compare tr[data-kind]") && /^messages: .*(changed|only in)/.test(one("#summary").textContent)`)
	p.until(`one("#compare th:nth-child(2)").textContent === "A: seed" && one("#compare th:nth-child(5)").textContent === "B: the hung one"`)
	p.press("n")
	p.until(`one("#compare tr.pick").dataset.kind !== "same"`)
	at := value[string](p, `one("#compare tr.pick").dataset.row`)
	p.press("n")
	p.until(`one("#compare tr.pick").dataset.kind !== "same" && one("#compare tr.pick").dataset.row !== %s`, at)
	p.press("N")
	p.until(`one("#compare tr.pick").dataset.row === %s`, at)
	p.until(`all("#compare tr[data-row]").some((row) => row.cells[3].textContent === "5")`)
	value[bool](p, `(all("#compare tr[data-row]").find((row) => row.cells[3].textContent === "5").click(), true)`)
	p.clickText("#side button", "Show #5 of B")
	p.until(`one("#sequence .row.pick").dataset.seq === "5" && one("#verdict.fail") && one("#payload").dataset.seq === "5"`)
	p.until(`one("#payload").textContent.includes("search")`)
	back(p)
	p.until(`one("#compare tr.pick")`)
}
