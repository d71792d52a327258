package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func full() Snapshot {
	return Snapshot{
		Recorder: "mcprec 1.2.3", Label: "a \"label\"\nwith \\ and \xff", Live: 2, Begun: 7, Stuck: 1, Events: 123456789012,
		Frames: Pair[uint64]{10, 12}, Bytes: Pair[uint64]{1 << 60, 3}, Lost: 4, Waiting: 5, Held: 6 << 20,
		Open: Pair[int]{3, 1}, Longest: 1234567 * time.Microsecond,
		Outbox: &Outbox{Connected: true, Events: 8, Bytes: 4096, Left: 12, Oldest: 1500 * time.Millisecond, Shipped: 90, Acknowledged: 82, Failed: 2, Refused: 1},
	}
}

// TestText holds the text of a snapshot with an outbox, and of an empty one; -update writes it.
func TestText(t *testing.T) {
	for name, shot := range map[string]Snapshot{"full": full(), "empty": {}} {
		text := shot.Text()
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, want) {
			t.Errorf("%s: got\n%s", name, text)
		}
		checkFormat(t, text)
	}
}

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)`)
)

// checkFormat holds a text to the exposition format, version 0.0.4: each family has its HELP and
// its TYPE before its samples, which stand together, no series comes twice, and names, label values
// and numbers are of the format.
func checkFormat(t *testing.T, text []byte) {
	t.Helper()
	if !bytes.HasSuffix(text, []byte("\n")) {
		t.Error("the last line has no end")
	}
	families, series := map[string]string{}, map[string]bool{}
	helped, family := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			if help == "" || strings.Contains(strings.NewReplacer(`\\`, "", `\n`, "").Replace(help), `\`) {
				t.Errorf("%s: the help is %q", name, help)
			}
			helped = name
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if name != helped || families[name] != "" || !metricName.MatchString(name) || kind != "counter" && kind != "gauge" {
				t.Errorf("%s: behind the help of %q", line, helped)
			}
			if strings.HasSuffix(name, "_total") != (kind == "counter") {
				t.Errorf("%s: the name of a counter ends in _total, and no other does", line)
			}
			families[name] = kind
			family = name
			continue
		}
		id, number, _ := strings.Cut(line, " ")
		if i := strings.LastIndexByte(line, '}'); i > 0 {
			id, number = line[:i+1], strings.TrimPrefix(line[i+1:], " ")
		}
		name, labels, _ := strings.Cut(id, "{")
		if name != family {
			t.Errorf("%s: it stands in the family %q", line, family)
		}
		if labels = strings.TrimSuffix(labels, "}"); labels != "" {
			seen := map[string]bool{}
			for labels != "" {
				m := labelPair.FindStringSubmatch(labels)
				if m == nil || seen[m[1]] {
					t.Errorf("%s: at the label %s", line, labels)
					break
				}
				seen[m[1]] = true
				labels = labels[len(m[0]):]
			}
		}
		if _, err := strconv.ParseFloat(number, 64); err != nil || series[id] {
			t.Errorf("%s: no number, or a second time", line)
		}
		series[id] = true
	}
}

// fixed is a recorder with fixed counts.
type fixed struct {
	lost    uint64
	waiting int
}

func (f fixed) Lost() uint64 { return f.lost }
func (f fixed) Waiting() int { return f.waiting }

// TestCollector follows two sessions, one of which ends.
func TestCollector(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := NewCollector("mcprec", "", 5*time.Second, func() time.Time { return start.Add(time.Minute) })
	header := store.Header{ID: "0190aaaa-0000-7000-8000-000000000001", Start: start, Transport: "stdio"}
	apply := func(s *Session, lines ...string) {
		s.Apply(store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()})
		for i, line := range lines {
			dir := transport.ClientToServer
			if line[0] == '<' {
				dir = transport.ServerToClient
			}
			s.Apply(store.Event{Seq: uint64(i) + 2, At: time.Duration(i+1) * time.Second, Kind: store.Frame, Dir: dir, Payload: []byte(line[2:])})
		}
	}
	one := c.Session(fixed{lost: 1})
	apply(one, `> {"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `< {"jsonrpc":"2.0","id":1,"result":{}}`, `< noise`)
	two := c.Session(fixed{lost: 2, waiting: 3})
	apply(two, `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`,
		`> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"y"}}`,
		`> {"jsonrpc":"2.0","id":"s","method":"subscriptions/listen"}`,
		`< {"jsonrpc":"2.0","id":1,"method":"roots/list"}`,
		`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	three := c.Session(fixed{}) // of which nothing is read yet
	shot := c.Snapshot()
	want := Snapshot{Recorder: "mcprec", Live: 3, Begun: 3, Stuck: 1, Events: 10, Frames: Pair[uint64]{5, 3}, Bytes: shot.Bytes, Lost: 3, Waiting: 3,
		Open: Pair[int]{1, 1}, Longest: 58 * time.Second}
	if shot != want {
		t.Errorf("got  %+v\nwant %+v", shot, want)
	}
	one.End()
	one.End() // counts once
	two.End()
	three.End()
	shot = c.Snapshot()
	want = Snapshot{Recorder: "mcprec", Begun: 3, Events: 10, Frames: Pair[uint64]{5, 3}, Bytes: shot.Bytes, Lost: 3}
	if shot != want || shot.Bytes.S2C != uint64(len(`{"jsonrpc":"2.0","id":1,"result":{}}noise{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)) {
		t.Errorf("got  %+v\nwant %+v", shot, want)
	}
	c.Ship(func() Outbox { return Outbox{Events: 1} })
	if shot := c.Snapshot(); shot.Outbox == nil || shot.Outbox.Events != 1 {
		t.Errorf("got %+v, want the outbox", shot)
	}
}

// TestParseAddress: only this machine reaches the server.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:9464": "127.0.0.1:9464", ":0": "127.0.0.1:0", "localhost:1": "127.0.0.1:1", "[::1]:9464": "::1:9464", "127.8.8.8:1": "127.8.8.8:1",
		"0.0.0.0:9464": "not an address of this machine alone", "[::]:1": "not an address of this machine alone", "192.168.1.2:1": "not an address of this machine alone",
		"example.com:1": "not an address of this machine alone", "9464": "want an address such as", "127.0.0.1": "want an address such as",
		"127.0.0.1:http": "is no port", "127.0.0.1:70000": "is no port", "": "want an address such as",
	} {
		a, err := ParseAddress(text)
		if got := fmt.Sprintf("%s:%d", a.host, a.port); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// TestServer asks a server by its own names and by a foreign one, on a port that nobody else gets.
func TestServer(t *testing.T) {
	address, err := ParseAddress("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(address, full)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := ParseAddress(s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Listen(taken, full); err == nil {
		other.Close()
		t.Error("a second server listens on the port")
	}
	get := func(path, host string) (int, string, string) {
		request, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(s.URL(), "/metrics")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			request.Host = host
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header.Get("Content-Type"), string(body)
	}
	for _, host := range []string{"", "localhost:1", "localhost", "[::1]", "[::1]:9"} {
		status, kind, body := get("/metrics", host)
		if status != http.StatusOK || kind != "text/plain; version=0.0.4; charset=utf-8" || body != string(full().Text()) {
			t.Errorf("host %q: %d, %s, %.40q", host, status, kind, body)
		}
	}
	if status, _, _ := get("/metrics", "rebound.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("a foreign name: %d", status)
	}
	if status, _, _ := get("/", ""); status != http.StatusNotFound {
		t.Errorf("another path: %d", status)
	}
	s.Close()
}
