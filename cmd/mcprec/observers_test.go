//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// spanCollector takes spans by OTLP over HTTP.
type spanCollector struct {
	*httptest.Server
	took chan map[string]any
}

func newSpanCollector(t *testing.T) *spanCollector {
	c := &spanCollector{took: make(chan map[string]any, 1000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Team") != "a b" {
			t.Errorf("%s %v, %v", r.URL, r.Header, err)
		}
		for _, span := range spansIn(t, string(body)) {
			c.took <- span
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// spansIn returns the spans of lines in the JSON form of OTLP, with their resource and scope.
func spansIn(t *testing.T, text string) (spans []map[string]any) {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var traces struct {
			ResourceSpans []struct {
				Resource   any
				ScopeSpans []struct {
					Scope any
					Spans []map[string]any
				}
			}
		}
		if err := d.Decode(&traces); err == io.EOF {
			return spans
		} else if err != nil {
			t.Error(err)
			return spans
		}
		for _, r := range traces.ResourceSpans {
			for _, span := range r.ScopeSpans[0].Spans {
				span["of"] = []any{r.Resource, r.ScopeSpans[0].Scope}
				spans = append(spans, span)
			}
		}
	}
}

// lineWith reads lines up to one that fits.
func lineWith(t *testing.T, lines *bufio.Reader, fits string) []string {
	t.Helper()
	pattern := regexp.MustCompile(fits)
	for seen := ""; ; {
		line, err := lines.ReadString('\n')
		seen += line
		if m := pattern.FindStringSubmatch(line); m != nil {
			return m
		}
		if err != nil {
			t.Fatalf("no line with %s: %v\n%s", fits, err, seen)
		}
	}
}

// scrape asks for the metrics until they have a line.
func scrape(t *testing.T, url, line string) {
	t.Helper()
	for {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\n"+line+"\n") {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("no %s in\n%s", line, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestObservers records a session over stdio and one over HTTP, while a Prometheus server asks and a
// collector takes spans: they come while the session goes on, and in the end are those of export.
func TestObservers(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b")
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{},"_meta":{"progressToken":"p"}}}`
	t.Run("stdio", func(t *testing.T) {
		t.Setenv("MCPREC_HOME", t.TempDir())
		c := newSpanCollector(t)
		cmd := exec.Command("mcprec", "record", "--otlp", c.URL, "--metrics", "127.0.0.1:0", "--", "hangserver", "brief", "--token", "s3cret-sesame-7")
		in, lines, said := started(t, cmd)
		url := lineWith(t, said, `metrics: (\S+)`)[1]
		fmt.Fprintln(in, initialize)
		lineWith(t, lines, `"id":1`)
		fmt.Fprintln(in, call)
		lineWith(t, lines, `"id":2`)
		spans := []map[string]any{<-c.took, <-c.took}
		scrape(t, url, `mcprec_frames_total{direction="s2c"} 4`)
		scrape(t, url, `mcprec_calls_open{direction="c2s"} 0`)
		scrape(t, url, `mcprec_sessions_live 1`)
		in.Close()
		c.compare(t, cmd, said, spans)
	})
	t.Run("http", func(t *testing.T) {
		t.Setenv("MCPREC_HOME", t.TempDir())
		c := newSpanCollector(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var request struct{ ID json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, request.ID)
		}))
		defer server.Close()
		cmd := exec.Command("mcprec", "record", "--otlp", c.URL, "--metrics", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--target", server.URL+"/mcp?api_key=sesame-7-s3cret")
		_, lines, said := started(t, cmd)
		url := lineWith(t, said, `metrics: (\S+)`)[1]
		endpoint := lineWith(t, lines, `^(http://\S+)`)[1]
		for _, text := range []string{initialize, call} {
			response, err := http.Post(endpoint, "application/json", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
		spans := []map[string]any{<-c.took, <-c.took}
		scrape(t, url, `mcprec_frames_total{direction="s2c"} 2`)
		scrape(t, url, `mcprec_sessions_live 1`)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		c.compare(t, cmd, said, spans)
	})
}

// started starts a command, and returns what it reads, writes and says.
func started(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, lines, said *bufio.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, bufio.NewReader(out), bufio.NewReader(errs)
}

// compare waits for the end of the recorder, and compares the spans that the collector took with
// those of the export of the session. Those that the recorder says it has not sent may be
// missing: it waits a second for a collector, and for its own reading, which may be too short on a busy
// machine.
func (c *spanCollector) compare(t *testing.T, cmd *exec.Cmd, said *bufio.Reader, live []map[string]any) {
	t.Helper()
	words, err := io.ReadAll(said)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Error(err)
	}
	c.Close() // what it still takes, it has taken
	for len(c.took) > 0 {
		live = append(live, <-c.took)
	}
	text, err := exec.Command("mcprec", "export", "--format", "otlp").Output()
	if err != nil || strings.Contains(string(text), "sesame") {
		t.Fatalf("%v: %s", err, text)
	}
	byID := func(spans []map[string]any) map[string]map[string]any {
		m := map[string]map[string]any{}
		for _, s := range spans {
			m[fmt.Sprint(s["spanId"])] = s
		}
		return m
	}
	exported := spansIn(t, string(text))
	got, want := byID(live), byID(exported)
	missing := 0
	if m := regexp.MustCompile(`: (\d+) spans? w\w+ not sent to `).FindSubmatch(words); m != nil {
		missing, _ = strconv.Atoi(string(m[1]))
	}
	if bytes.Contains(words, []byte(": it ended before all of it was read for ")) {
		missing = len(want)
	}
	for id := range want {
		if got[id] == nil && missing > 0 {
			missing--
			delete(want, id)
		}
	}
	if len(live) != len(got) || !reflect.DeepEqual(got, want) {
		t.Errorf("the collector took %d spans %v\n%v\nexport has %d %v\n%v\nThe recorder says %s", len(live), slices.Collect(maps.Keys(got)), got, len(exported), slices.Collect(maps.Keys(want)), want, words)
	}
}

// TestObserversFail: a port that is taken and a collector that never answers cost the session
// nothing but a word on standard error.
func TestObserversFail(t *testing.T) {
	t.Setenv("MCPREC_HOME", t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections and answers none
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	cmd := exec.Command("mcprec", "record", "--otlp", "http://u:sesame@"+mute.Addr().String(), "--metrics", taken.Addr().String(), "--", "hangserver", "brief")
	in, lines, said := started(t, cmd)
	lineWith(t, said, `--metrics 127.0.0.1:\d+: .*; the session goes on without metrics`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	lineWith(t, lines, `"id":1`)
	in.Close()
	lineWith(t, said, `: 2 spans were not sent to http://u:xxxxx@127.0.0.1:\d+/v1/traces: the recorder ended before the collector took them; mcprec export --format otlp writes them|: it ended before all of it was read for the spans; `)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
