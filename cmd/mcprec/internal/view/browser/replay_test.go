package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// verdict is what the tests need of the JSON of mcprec replay.
type verdict struct {
	Verdict string   `json:"verdict"`
	Hung    []any    `json:"hung"` // what hung in the recorded session
	Cycle   []string `json:"cycle"`
	Waits   []struct {
		Who   string `json:"who"`
		Waits string `json:"waits_for"`
	} `json:"waits"`
}

// setup is what a user picks for a replay.
type setup struct{ client, server, capacity string }

// rooms returns the capacity of each direction.
func (s setup) rooms() (c2s, s2c string) {
	if both, ok := strings.CutPrefix(s.capacity, "c2s="); ok {
		c2s, s2c, _ = strings.Cut(both, ",s2c=")
		return c2s, s2c
	}
	return s.capacity, s.capacity
}

var setups = []setup{
	{"independent", "independent", "0"},
	{"notification-queue=0", "independent", "0"},
	{"notification-queue=0", "independent", "unbounded"},
	{"single-threaded", "single-threaded", "0"},
	{"single-threaded", "single-threaded", "1"},
	{"single-threaded", "single-threaded", "c2s=1,s2c=0"},
	{"independent", "answers-inline", "0"},
	{"answers-inline", "answers-inline", "10"},
	{"notification-queue=1", "single-threaded", "1000"},
}

// TestPickers: the verdict of the page is that of mcprec replay, and the ring has its cycle.
func TestPickers(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, name := range []string{"seed", "crossing", "gosdk-handler-calls", "mcpgo-inline", "pysdk-594", "progress-2026-07-28"} {
		t.Run(name, func(t *testing.T) {
			p := newTab(t)
			p.open(view(t, fixture(name)).at("view=replay"))
			for _, s := range setups {
				args := []string{"replay", "--client", s.client, "--server", s.server, "--buffer", s.capacity, fixture(name)}
				want := report[verdict](t, append(args, "--format", "json")...)
				if len(want.Hung) > 0 && want.Verdict != "hang" {
					want.Verdict = "hung"
				}
				p.choose("#replay select[name=client]", s.client)
				p.choose("#replay select[name=server]", s.server)
				c2s, s2c := s.rooms()
				p.choose("#replay select[name=buffer]", c2s)
				p.choose("#replay select[name=buffer-back]", s2c)
				p.until(`new URLSearchParams(location.hash.slice(1)).get("client") === %s && !one("html").dataset.busy`, s.client)
				p.until(`one("#replay .verdict").textContent.toLowerCase().startsWith(%s)`, want.Verdict)
				words := p.text("#replay .verdict")
				if said := string(output(t, t.TempDir(), args...)); !strings.Contains(said, firstWords(words)) {
					t.Errorf("%v: the page says %q, the command\n%s", s, words, said)
				}
				if want.Verdict != "hang" {
					p.until(`one("#replay .verdict").classList.contains(%s) && !one("#ring")`, map[bool]string{true: "pass", false: "hang"}[want.Verdict == "pass"])
					continue
				}
				parts := map[string]bool{}
				for _, wait := range want.Waits {
					parts[wait.Who] = true
				}
				p.press("h")
				p.until(`one("#replay .verdict.hang") && all("#ring .node").length === %s`, len(parts))
				ring := value[string](p, `one("#ring").getAttribute("aria-label")`)
				if !strings.Contains(ring, strings.Join(want.Cycle, " waits for ")) {
					t.Errorf("%v: the ring is %q, want %q", s, ring, want.Cycle)
				}
			}
		})
	}
}

// firstWords cuts what a text says after its verdict.
func firstWords(words string) string {
	verdict, _, _ := strings.Cut(words, ":")
	return verdict
}

// TestSteps: stepping through a replay shows the frames that have moved, and no others.
func TestSteps(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, "--client", "notification-queue=0", fixture("seed")).at(""))
	p.until(`one("#replay .verdict.hang")`)
	p.press("g")
	p.until(`one("footer .at").textContent.startsWith("step 0 ") && all("#replay g.now[data-seq]").length === 0`)
	p.press("j")
	p.until(`one("footer .at").textContent.startsWith("step 1 ") && all("#replay g.now[data-seq]").length === 1`)
	if got := value[string](p, `one("#replay g.now[data-seq]").dataset.seq`); got != "2" {
		t.Errorf("the first step moves #%s, want #2", got)
	}
	p.press("G")
	p.until(`one("#ring.now")`)
	if all := p.text("#replay .stage"); !strings.Contains(all, "no room") && !strings.Contains(all, "full") {
		t.Errorf("the notification queue is not said to be full:\n%s", all)
	}
	p.until(`one("#replay rect.blocked.now")`) // the server's writer stands
}

// TestWords: the page says what the words of a verdict mean, as mcprec help models does, and the
// help explains all of them.
func TestWords(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, "--client", "notification-queue=0", fixture("seed")).at(""))
	p.until(`one("#replay .verdict.hang") && one("#side dl")`)
	side := p.text("#side")
	models := strings.Join(strings.Fields(string(output(t, t.TempDir(), "help", "models"))), " ")
	free := "its reader never waits for its writer"
	if !strings.Contains(models, free) || !strings.Contains(side, "server independent"+free) {
		t.Errorf("the side does not say what free is: %q", side)
	}
	for _, word := range []string{"notification-queue=0", "blocked behind a notification", "proved", "buffer", "notification queue"} {
		if !value[bool](p, `all("#side dt").some((e) => e.textContent.endsWith(%s) && e.nextSibling.textContent.length > 10)`, word) {
			t.Errorf("the side does not explain %s: %q", word, side)
		}
	}
	if title := value[string](p, `one("#replay .verdict").title`); !strings.Contains(title, "blocked behind a notification: a reader holds a notification") {
		t.Errorf("the title of the verdict is %q", title)
	}
	p.press("?")
	p.until(`one("dialog#keys").open`)
	for _, word := range []string{"single-threaded", "notification-queue=0", "both sides write and neither reads", "each waits for the other's answer", "proved", "s2c"} {
		if !value[bool](p, `all("dialog dt").some((e) => e.textContent === %s)`, word) {
			t.Errorf("the help does not explain %s", word)
		}
	}
}

// TestFreeClient: a client without an inner queue passes where the one with it hangs.
func TestFreeClient(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, "--client", "notification-queue=0", fixture("seed")).at(""))
	p.until(`one("#replay .verdict.hang") && one("#ring")`)
	p.choose("#replay select[name=client]", "independent")
	p.until(`one("#replay .verdict.pass") && !one("#ring")`)
}

// TestBeside: two replays stand on one axis, and part at the first step that differs; two that
// are the same do not.
func TestBeside(t *testing.T) {
	t.Parallel()
	page := view(t, fixture("seed"))
	p := newTab(t)
	p.open(page.at("view=beside&client=notification-queue=0&client2=independent"))
	p.until(`all("#beside .verdict").length === 2 && all("#beside g.apart").length === 2`)
	words := value[[]string](p, `all("#beside .verdict").map((verdict) => verdict.textContent)`)
	if !strings.HasPrefix(words[0], "HANG") || !strings.HasPrefix(words[1], "PASS") {
		t.Errorf("verdicts %q", words)
	}
	if said := p.text("#beside .apart"); !strings.Contains(said, "here they part") {
		t.Errorf("the parting says %q", said)
	}
	heights := value[[]float64](p, `all("#beside g.apart line").map((line) => line.getBoundingClientRect().y)`)
	if len(heights) != 2 || heights[0] != heights[1] {
		t.Errorf("the runs part at the heights %v", heights)
	}
	p.choose("#beside select[name=client]", "independent")
	p.until(`all("#beside g.apart").length === 0 && one("#beside").textContent.includes("same")`)
}

// TestExplored: other orders of a session stand beside the nearest one that passes.
func TestExplored(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at("view=beside&client=notification-queue=1&client2=independent"))
	p.until(`all("#beside .verdict").length === 2`)
	p.clickText("#beside button", "Explore other orders")
	p.until(`one("#beside .report") || all("#beside .verdict[role=status]").some((e) => e.textContent === "no order fails")`)
	p.until(`location.hash.includes("explore=1")`) // so a link to it, and a reload, explore again
	value[bool](p, `(one("#beside").dataset.old = "1", true)`)
	p.do(chromedp.Reload())
	p.until(`one("#beside") && !one("#beside").dataset.old && (one("#beside .report") || one("#beside .verdict[role=status]"))`)
}
