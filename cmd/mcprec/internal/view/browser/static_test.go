package browser

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestStatic: the file asks for nothing, and shows what the served page shows.
func TestStatic(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	for _, name := range []string{"seed", "crossing", "gosdk-897", "mcpgo-late-progress"} {
		t.Run(name, func(t *testing.T) {
			_, address := export(t, fixture(name))
			served, filed := newTab(t), newTab(t)
			served.open(view(t, fixture(name)).at("at=5"))
			filed.open(address + "#at=5")
			for _, selector := range []string{"#sequence", "#payload", "#state"} {
				for _, p := range []*tab{served, filed} {
					p.until(`one("#payload").dataset.seq === "5" && one("#state").dataset.seq === "5" && all("g.row").length > 4`)
				}
				if want, got := served.text(selector), filed.text(selector); got != want {
					t.Errorf("%s of the file:\n%s\nof the served page:\n%s", selector, got, want)
				}
			}
			for _, p := range []*tab{served, filed} {
				p.press("2")
				p.choose("#replay select[name=client]", "notification-queue=0")
				p.until(`location.hash.includes("notification-queue") && one("#replay .verdict").textContent`)
			}
			judged := report[verdict](t, "replay", "--client", "notification-queue=0", "--format", "json", fixture(name))
			want := judged.Verdict
			if len(judged.Hung) > 0 && want != "hang" {
				want = "hung"
			}
			filed.until(`one("#replay .verdict").textContent.toLowerCase().startsWith(%s)`, want)
			served.until(`one("#replay .verdict").textContent.toLowerCase().startsWith(%s)`, want)
			if setup := (setup{"single-threaded", "single-threaded", "c2s=1,s2c=0"}); name == "crossing" {
				want := report[verdict](t, "replay", "--client", setup.client, "--server", setup.server, "--buffer", setup.capacity,
					"--format", "json", fixture(name)).Verdict
				filed.choose("#replay select[name=client]", setup.client)
				filed.choose("#replay select[name=server]", setup.server)
				filed.until(`one("#replay .verdict.hang")`)
				filed.choose("#replay select[name=buffer]", "1")
				filed.until(`one("#replay .verdict").textContent.toLowerCase().startsWith(%s)`, want)
			}
			filed.press("3")
			filed.until(`all("#beside .verdict").length === 2`)
			for _, request := range filed.seenRequests() {
				if request != "about:blank" && !strings.HasPrefix(request, address) && !strings.HasPrefix(request, "data:") {
					t.Errorf("the file asks for %s", request)
				}
			}
		})
	}
}

// TestStaticSize: the file of the seed is small enough for an issue or a mail.
func TestStaticSize(t *testing.T) {
	t.Parallel()
	path, _ := export(t, fixture("seed"))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 250_000 {
		t.Errorf("%d bytes, want at most 250,000", info.Size())
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	t.Logf("the file of the seed has %d bytes", info.Size())
}

// TestStaticMasked: a secret that the page masks is not in the file.
func TestStaticMasked(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	text, err := json.Marshal("the token is " + secret)
	if err != nil {
		t.Fatal(err)
	}
	path := writeSession(t, `{"seq":2,"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"ping",`+
		`"params":{"token":"`+secret+`","text":`+string(text)+`}}}`)
	file, address := export(t, path)
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(written), secret) {
		t.Error("the file has the secret")
	}
	p := newTab(t)
	p.open(address + "#at=2")
	p.until(`one("#payload").dataset.seq === "2" && one("#payload").textContent.includes("masked")`)
	q := newTab(t)
	q.open(view(t, path).at("at=2"))
	q.until(`one("#payload").dataset.seq === "2" && one("#payload").textContent.includes("masked")`)
	if strings.Contains(q.text("body"), secret) {
		t.Error("the served page has the secret")
	}
}
