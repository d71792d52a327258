package browser

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// difference is what the tests need of the JSON of mcprec diff.
type difference struct {
	Same     bool `json:"same"`
	Findings []struct {
		Kind        string `json:"kind"`
		A           []int  `json:"a"`
		B           []int  `json:"b"`
		Differences []struct {
			Path string `json:"path"`
		} `json:"differences"`
	} `json:"findings"`
}

// comparedRow is a row of the comparison on the page.
type comparedRow struct {
	At   string `json:"at"`
	Kind string `json:"kind"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// TestCompare: the rows that differ are what mcprec diff finds, with its paths.
func TestCompare(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, pair := range [][2]string{
		{"memory-2025-03-26", "memory-2025-06-18"},
		{"memory-2024-11-05", "memory-2025-11-25"},
		{"seed", "pysdk-594"},
		{"seed", "seed"},
	} {
		t.Run(strings.Join(pair[:], " "), func(t *testing.T) {
			a, b := fixture(pair[0]), fixture(pair[1])
			want := report[difference](t, "diff", "--format", "json", a, b)
			p := newTab(t)
			p.open(view(t, a, b).at(""))
			p.until(`one("#compare tr[data-kind]")`)
			rows := value[[]comparedRow](p, `all("#compare tr[data-row]").map((row) => ({
				at: row.dataset.row, kind: row.dataset.kind,
				a: row.cells[0].textContent, b: row.cells[3].textContent,
			}))`)
			if want.Same != slices.ContainsFunc(rows, func(row comparedRow) bool { return row.Kind == "same" }) && want.Same {
				t.Errorf("diff finds the sessions the same, the page shows %v", rows)
			}
			for _, finding := range want.Findings {
				first, second := firstOf(finding.A), firstOf(finding.B)
				n := slices.IndexFunc(rows, func(row comparedRow) bool {
					return row.Kind != "same" && row.A == first && row.B == second
				})
				if n < 0 {
					t.Errorf("no row for %+v in %v", finding, rows)
					continue
				}
				p.click(`#compare tr[data-row="` + rows[n].At + `"]`)
				p.until(`one('#compare tr.pick[data-row="' + %s + '"]')`, rows[n].At)
				for _, one := range finding.Differences {
					if side := p.text("#side"); !strings.Contains(side, one.Path) {
						t.Errorf("the side of row %v does not name %s: %q", rows[n], one.Path, side)
					}
				}
			}
			if want.Same {
				for _, row := range rows {
					if row.Kind != "same" && row.Kind != "note" {
						t.Errorf("diff finds nothing, the page has %v", row)
					}
				}
			}
		})
	}
}

// TestCompareFile: the file of two sessions opens at their comparison, shows what the served page
// shows, and has the views of the first session too.
func TestCompareFile(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	a, b := fixture("memory-2025-03-26"), fixture("memory-2025-06-18")
	_, address := export(t, a, b)
	served, filed := newTab(t), newTab(t)
	served.open(view(t, a, b).at(""))
	filed.open(address)
	for _, p := range []*tab{served, filed} {
		p.until(`all("#compare tr[data-row]").length > 5 && one("#compare tr.pick") && one("#side code")`)
	}
	for _, selector := range []string{"header", "#compare", "#side"} {
		// a file has the events of the first session only
		want, got := strings.ReplaceAll(served.text(selector), "Show #2 of B", ""), filed.text(selector)
		if got != want {
			t.Errorf("%s of the file:\n%s\nof the served page:\n%s", selector, got, want)
		}
	}
	filed.press("j")
	filed.until(`one("footer .at").textContent.startsWith("row 2 ")`)
	filed.press("1")
	filed.until(`one("#sequence .row.pick")`)
	filed.press("2")
	filed.until(`one("#replay .verdict")`)
}

// firstOf returns the first of the events of a finding as the page writes it.
func firstOf(seqs []int) string {
	if len(seqs) == 0 {
		return ""
	}
	return strconv.Itoa(seqs[0])
}
