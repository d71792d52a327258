package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const hostile = "testdata/hostile.jsonl"

// hostileEvents is how many events the hostile session has.
const hostileEvents = 16

// TestHostile: a session whose every text tries to be markup, code or an order to a terminal runs
// nothing, adds no element, and is shown with its odd characters by number: live, in a list, beside
// another, and in a file.
func TestHostile(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	t.Run("live", func(t *testing.T) {
		p := newTab(t)
		page := view(t, hostile)
		p.open(page.at("at=1"))
		visitHostile(p)
		for _, focus := range []string{"view=replay&client=notification-queue=0", "view=beside&client=notification-queue=0&client2=independent"} {
			p.open(page.at(focus))
			p.until(`one(".verdict")`)
			harmless(p, focus)
		}
	})
	t.Run("file", func(t *testing.T) {
		_, address := export(t, hostile)
		p := newTab(t)
		p.open(address + "#at=1")
		visitHostile(p)
		p.press("2")
		p.until(`one("#replay .verdict")`)
		harmless(p, "replay")
	})
	t.Run("compare", func(t *testing.T) {
		p := newTab(t)
		p.open(view(t, hostile, fixture("seed")).at(""))
		p.until(`one("#compare tr[data-row]")`)
		rows := value[int](p, `all("#compare tr[data-row]").length`)
		for n := range rows {
			harmless(p, fmt.Sprintf("row %d", n+1))
			p.press("j")
			p.until(`one("footer .at").textContent.startsWith("row " + %s + " ")`, min(n+2, rows))
		}
	})
	t.Run("list", func(t *testing.T) {
		store := t.TempDir()
		output(t, store, "import", hostile)
		p := newTab(t)
		p.open(viewStore(t, store, "--dir").at(""))
		p.until(`one("#sessions tr[data-session]")`)
		harmless(p, "list")
	})
}

// visitHostile goes through the events, each with its payload and state.
func visitHostile(p *tab) {
	p.t.Helper()
	seen := ""
	for seq := 1; seq <= hostileEvents; seq++ {
		p.until(`one(".row.pick").dataset.seq === %s && one("#payload").dataset.seq === %s && one("#state").dataset.seq === %s`,
			fmt.Sprint(seq), fmt.Sprint(seq), fmt.Sprint(seq))
		harmless(p, fmt.Sprintf("event %d", seq))
		seen += p.text("body")
		p.press("j")
	}
	for _, want := range []string{
		`\u{202e}`, `\u{0000}`, `\u{001b}`, `\u{2066}`, `\u{200b}`, `\u{feff}`, `\u{009b}`,
		"9007199254740993", "1e400", "doubled",
	} {
		if !strings.Contains(strings.ToLower(seen), want) {
			p.t.Errorf("no event shows %s", want)
		}
	}
}

// harmless fails the test if the session did something to the page.
func harmless(p *tab, where string) {
	p.t.Helper()
	if done := value[string](p, `String(window.pwned) + String({}.polluted)`); done != "undefinedundefined" {
		p.t.Fatalf("%s: the session ran a script or changed a prototype: %s", where, done)
	}
	bad := value[[]string](p, `all("*").flatMap((element) => {
		const found = [];
		const name = element.localName;
		const strange = ["img", "iframe", "object", "embed", "base", "math", "form"];
		if (strange.includes(name) && element.method !== "dialog") found.push("<" + name + ">");
		if (name === "script" && element.src && !element.src.startsWith(new URL("dist/", location))) found.push("script " + element.src);
		for (const attribute of element.attributes) {
			if (/^on/i.test(attribute.name)) found.push(name + " " + attribute.name);
			if (/^\s*javascript:/i.test(attribute.value) && /href|src|action/i.test(attribute.name)) found.push(attribute.value);
			if (name === "a" && attribute.name === "href") found.push("link " + attribute.value);
		}
		return found;
	})`)
	if len(bad) > 0 {
		p.t.Errorf("%s: the page has %q", where, bad)
	}
	raw := value[string](p, `(() => {
		const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
		const walk = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
		while (walk.nextNode()) {
			if (["script", "style"].includes(walk.currentNode.parentElement.localName)) continue;
			if (odd.test(walk.currentNode.data)) return JSON.stringify(walk.currentNode.data.slice(0, 200));
		}
		for (const element of all("[title], [aria-label]"))
			for (const name of ["title", "aria-label"])
				if (odd.test(element.getAttribute(name) || "")) return name + " " + JSON.stringify(element.getAttribute(name));
		return odd.test(document.title) ? "title " + JSON.stringify(document.title) : "";
	})()`)
	if raw != "" {
		p.t.Errorf("%s: characters that turn, hide or control text are on the page as they are: %s", where, raw)
	}
}

// TestHostileFile: the file has no script but its own, whatever the session says.
func TestHostileFile(t *testing.T) {
	t.Parallel()
	path, _ := export(t, hostile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ToLower(string(text))
	if open, end := strings.Count(page, "<script"), strings.Count(page, "</script"); open != 2 || end != 2 {
		t.Errorf("the file opens %d scripts and ends %d, want 2: the data and the page", open, end)
	}
	if strings.ContainsAny(page, "\u2028\u2029\x00") {
		t.Error("the file has characters that end a line of a script, or a text")
	}
}
