package browser

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// keyCase is what a key does on the page.
type keyCase struct {
	name  string // in the table of keys
	key   string
	focus string // of the page before
	want  string // a condition after
}

// keyCases has each key of the table. The session is seed: event 5 is a call, 6 and 7 are its
// progress, 8 is its answer.
var keyCases = []keyCase{
	{"j", "j", "at=5", `one(".row.pick").dataset.seq === "6"`},
	{"↓", kb.ArrowDown, "at=5", `one(".row.pick").dataset.seq === "6"`},
	{"j", "j", "view=replay&client=notification-queue=0&step=2", `one("footer .at").textContent.startsWith("step 3 ")`},
	{"k", "k", "at=5", `one(".row.pick").dataset.seq === "4"`},
	{"↑", kb.ArrowUp, "at=5", `one(".row.pick").dataset.seq === "4"`},
	{"k", "k", "at=1", `one(".row.pick").dataset.seq === "1"`},
	{"PgDn", kb.PageDown, "at=1", `one(".row.pick").dataset.seq === "9"`},
	{"PgUp", kb.PageUp, "at=12", `one(".row.pick").dataset.seq === "1"`},
	{"g", "g", "at=7", `one(".row.pick").dataset.seq === "1"`},
	{"Home", kb.Home, "at=7", `one(".row.pick").dataset.seq === "1"`},
	{"G", "G", "at=7", `one(".row.pick").dataset.seq === "12"`},
	{"End", kb.End, "at=7", `one(".row.pick").dataset.seq === "12"`},
	{"a", "a", "at=5", `one(".row.pick").dataset.seq === "8"`},
	{"a", "a", "at=8", `one(".row.pick").dataset.seq === "5"`},
	{"a", "a", "at=7", `one(".row.pick").dataset.seq === "5"`},
	{"[", "[", "at=7", `one(".row.pick").dataset.seq === "5"`},
	{"h", "h", "at=5", `one("#replay .verdict").textContent`},
	{"e", "e", "at=5", `document.activeElement === one("input#place")`},
	{"h", "h", "view=replay&client=notification-queue=0&step=2", `one("footer .at").textContent.startsWith("the hang, after ") && one("#ring.now")`},
	{"space", " ", "at=5", `one("footer button[aria-label=Pause]") || Number(one(".row.pick").dataset.seq) > 5`},
	{"s", "s", "at=5", `!one("#side").checkVisibility()`},
	{"f", "f", "at=5", `all("#sequence g.row").length === 12`},
	{"/", "/", "at=5", `document.activeElement === one("input#filter")`},
	{"/", "/", "view=replay", `one("#sequence") && document.activeElement === one("input#filter")`},
	{"/", "/", "view=beside", `one("#sequence") && document.activeElement === one("input#filter")`},
	{"1", "1", "view=replay", `one("#sequence .row.pick")`},
	{"2", "2", "at=5", `one("#replay .verdict")`},
	{"3", "3", "at=5", `all("#beside .verdict").length === 2`},
	{"t", "t", "theme=light", `one("html[data-theme=dark]")`},
	{"t", "t", "theme=dark", `one("html[data-theme=light]")`},
	{"?", "?", "at=5", `one("dialog#keys").open`},
	{"Esc", kb.Escape, "filter=kind:message", `!location.hash.includes("filter=k") && one("input#filter").value === ""`},
}

// TestKeys: each key does what the table of keys says, and the table has no other.
func TestKeys(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	page := view(t, fixture("seed"))
	p := newTab(t)
	tested := map[string]bool{"4": true, "n": true, "N": true, "Enter": true} // below
	for _, c := range keyCases {
		tested[c.name] = true
		t.Run(c.name+" at "+c.focus, func(t *testing.T) {
			p.lend(t)
			p.open(page.at(c.focus)) // loads the page, also where the hash is that of the case before
			p.press(c.key)
			p.until(c.want)
		})
	}
	p.open(page.at(""))
	p.press("?")
	p.until(`one("dialog#keys").open`)
	shown := value[[]string](p, `all("dialog#keys kbd").map((key) => key.textContent)`)
	for _, key := range shown {
		if !tested[key] {
			t.Errorf("the key %q of the table has no test", key)
		}
	}
	for key := range tested {
		if !slices.Contains(shown, key) {
			t.Errorf("the table of keys lacks %q: %q", key, shown)
		}
	}
	p.press(kb.Escape)
	p.until(`!one("dialog#keys").open`)
}

// TestFindingKeys: n and N go through the events with findings, and stay at the last.
func TestFindingKeys(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("gosdk-897")).at("at=1"))
	p.until(`all("#findings li").length > 0`)
	p.press("n")
	p.until(`one(".row.pick .mark")`)
	first := value[int](p, `Number(one(".row.pick").dataset.seq)`)
	p.press("G")
	p.until(`Number(one(".row.pick").dataset.seq) > %s`, first)
	p.press("N")
	p.until(`one(".row.pick .mark")`)
}

// TestCompareKey: 4 opens the comparison where there are two sessions.
func TestCompareKey(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("memory-2025-03-26"), fixture("memory-2025-06-18")).at("view=sequence"))
	p.press("4")
	p.until(`one("#compare tr[data-kind]")`)
}

// TestEnterKey: Enter opens the session of the list at which j and k stand.
func TestEnterKey(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	store := t.TempDir()
	for _, name := range []string{"seed", "crossing"} {
		output(t, store, "import", fixture(name))
	}
	p := newTab(t)
	p.open(viewStore(t, store, "--dir").at(""))
	p.press("j")
	p.until(`all("#sessions tr[data-row]")[1].classList.contains("pick")`)
	want := value[string](p, `one("#sessions tr.pick").dataset.session`)
	p.press(kb.Enter)
	p.until(`location.search === "?session=" + %s && one("#sequence .row.pick")`, want)
}
