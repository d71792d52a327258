package sequence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

var update = replaytest.Update

// events reads lines: a kind or > or <, and the payload; event N is at (N-1)*10ms.
func events(text string) (list []store.Event) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		kind, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		e := store.Event{Kind: store.Kind(kind), Payload: []byte(payload)}
		switch kind {
		case ">":
			e.Kind, e.Dir = store.Frame, transport.ClientToServer
		case "<":
			e.Kind, e.Dir = store.Frame, transport.ServerToClient
		case "delivered", "eof":
			e.Dir = transport.ServerToClient
		case "http":
			e.Dir, e.Stream = transport.ClientToServer, 3
		}
		e.Seq, e.At = uint64(len(list)+1), time.Duration(len(list))*10*time.Millisecond
		list = append(list, e)
	}
	return list
}

const playbook = `
	opened {"mcprec":1,"id":"019a0000-0000-7000-8000-000000000000","transport":"stdio","label":"日本語のラベル","command":["srv"]}
	> {"id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"a"}}}
	> {"id":2,"method":"tools/call","params":{"name":"ツールの名前がとても長いのでここで切られますツールの名前がとても長い"}}
	< {"method":"notifications/progress","params":{"progressToken":"a","progress":1}}
	< {"id":9,"method":"sampling/createMessage"}
	stderr a warning
	> {"id":9,"result":{}}
	delivered {"upto":4,"blocked_ns":30000000}
	< {"id":2,"error":{"code":-32602,"message":"no such tool"}}
	> {"method":"notifications/cancelled","params":{"requestId":1}}
	< {"id":1,"result":{}}
	< {"method":"notifications/progress","params":{"progressToken":"a","progress":2}}
	< {"id":1,"result":{}}
	< {"id":77,"result":{}}
	< starting up
	http {"what":"request","method":"POST","path":"/mcp"}
	> [{"id":3,"method":"ping"},{"id":4,"method":"ping"}]
	> []
	< {"id":3,"result":{}}
	lost {"frames":3,"bytes":120,"reason":"disk full"}
	> {"id":5,"method":"a"}
	> {"id":6,"method":"b"}
	> {"id":7,"method":"c"}
	> {"id":8,"method":"d"}
	> {"id":9,"method":"e"}
	> {"id":10,"method":"f"}
	> {"id":11,"method":"g"}
	< {"id":11,"result":{}}
	< {"id":5,"result":{}}
	> {"id":12,"method":"h"}
	eof {"by":"sender"}
	exit {"code":-1,"signal":"killed"}
	closed {"frames":26,"lost":3}`

func draw(t *testing.T, width int, list []store.Event) string {
	t.Helper()
	var b strings.Builder
	d := sequence.New(width, func(l sequence.Line) error {
		b.WriteString(l.String() + "\n")
		return nil
	})
	if err := d.Heading(); err != nil {
		t.Fatal(err)
	}
	transcript := timeline.NewTranscript(d.Add)
	if err := timeline.Project(timeline.Steps(jsonl.Each(list)), transcript); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s: %v; -update rewrites it\n%s", path, err, got)
	}
}

func TestDiagram(t *testing.T) { golden(t, "diagram.txt", draw(t, 90, events(playbook))) }

// TestDiagramFits: whatever the width and the names, no line is wider, and both
// lifelines stand in one column each.
func TestDiagramFits(t *testing.T) {
	screen := &runewidth.Condition{StrictEmojiNeutral: true}
	for width := 60; width < 200; width += 7 {
		for i, line := range strings.Split(strings.TrimSuffix(draw(t, width, events(playbook)), "\n"), "\n") {
			if n := screen.StringWidth(line); n > width {
				t.Errorf("width %d: line %d has %d columns: %s", width, i+1, n, line)
			}
			left, right := strings.IndexByte(line, '|'), strings.LastIndexByte(line, '|')
			if i == 0 {
				continue
			}
			if from, to := screen.StringWidth(line[:left]), screen.StringWidth(line[:right]); from != 27 || to != width-6 {
				t.Errorf("width %d: line %d has its lifelines at %d and %d: %s", width, i+1, from, to, line)
			}
		}
	}
	if narrow := draw(t, 1, events(playbook)); narrow != draw(t, 60, events(playbook)) {
		t.Error("less than 60 columns is not 60")
	}
}

// TestDiagramForgets: what is remembered is the calls in flight.
func TestDiagramForgets(t *testing.T) {
	lines := 0
	d := sequence.New(100, func(sequence.Line) error { lines++; return nil })
	transcript := timeline.NewTranscript(d.Add)
	pair := events("> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}")
	model := timeline.NewModel(timeline.Remembered)
	for range 1000 {
		if err := timeline.Project(model.Steps(jsonl.Each(pair)), transcript); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil || lines != 2000 {
		t.Errorf("%d lines, want 2000 and none at the end: %v", lines, err)
	}
}

func mermaid(t *testing.T, limit int, list []store.Event) (text string, left int) {
	t.Helper()
	var b strings.Builder
	d := sequence.NewMermaid(limit, func(line string) error {
		b.WriteString(line + "\n")
		return nil
	})
	transcript := timeline.NewTranscript(d.Add)
	if err := timeline.Project(timeline.Steps(jsonl.Each(list)), transcript); err != nil {
		t.Fatal(err)
	}
	left, err := d.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), left
}

func TestMermaid(t *testing.T) {
	text, left := mermaid(t, sequence.MermaidLimit, events(playbook))
	if golden(t, "diagram.mmd", text); left != 0 {
		t.Errorf("%d events are left out", left)
	}
}

// TestPartsOfFrames: a frame that was cut, or whose rest has not come, is no empty batch.
func TestPartsOfFrames(t *testing.T) {
	list := events("> {\"id\":1,\"meth\n< {\"id\n> []")
	list[0].Cut = 4096
	list[1].Open = true
	drawn := draw(t, 100, list)
	text, _ := mermaid(t, sequence.MermaidLimit, list)
	for i, want := range []string{"a message, cut: 4096 B more passed", "a message whose rest has not come", "empty batch"} {
		if line := strings.Split(drawn, "\n")[i+1]; !strings.Contains(line, want) {
			t.Errorf("%s, want %s", line, want)
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// TestMermaidLimit: what has no room is counted, and the text is no longer than allowed.
func TestMermaidLimit(t *testing.T) {
	list := events(playbook)
	for limit := 500; limit < 3000; limit += 50 {
		text, left := mermaid(t, limit, list)
		if n := len([]rune(text)); n > limit {
			t.Errorf("%d characters, limit %d", n, limit)
		}
		drawn := 0
		for i := range list {
			if strings.Contains(text, fmt.Sprintf("#35;%d ", i+1)) {
				drawn++
			}
		}
		if said := strings.Contains(text, fmt.Sprintf("Note over C,S: %d more event", left)); said != (left > 0) || drawn+left < len(list) {
			t.Errorf("limit %d: %d drawn, %d left out of %d, said %t", limit, drawn, left, len(list), said)
		}
	}
}

// TestMermaidInjection: a peer cannot leave its line, nor say anything in it.
func TestMermaidInjection(t *testing.T) {
	for _, name := range []string{
		"x\\nC->>S: forged", "x; participant Z", "%%{init: {'theme':'dark'}}%%", "<img src=x onerror=alert(1)>", "#quot;", "end", "\\u2028x", "click C href \\\"javascript:alert(1)\\\"", "wrap:x",
	} {
		text, _ := mermaid(t, sequence.MermaidLimit, events(`> {"id":1,"method":"`+name+`","params":{}}`))
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[3], "    C->>S: #35;1 ") {
			t.Errorf("%s: %q", name, text)
			continue
		}
		rest := regexp.MustCompile(`#[0-9]+;`).ReplaceAllString(lines[3], "")
		if strings.ContainsAny(rest[len("    C->>S:"):], "#;%<>{}\"&\\`=") {
			t.Errorf("%s: %s", name, rest)
		}
	}
}

// FuzzDiagram: whatever the ends say, each line fits, is one line and shows what it has.
func FuzzDiagram(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"tools/call","params":{"name":"x"}}`), []byte(`{"id":1,"error":{"code":1,"message":"a\u001b"}}`), 70)
	f.Add([]byte(`[{"id":"\u202e","method":"x\n"},{}]`), []byte("\x1b[2J\xff"), 100)
	f.Fuzz(func(t *testing.T, c2s, s2c []byte, width int) {
		list := []store.Event{
			{Seq: 1, Kind: store.Frame, Dir: transport.ClientToServer, Payload: c2s},
			{Seq: 2, Kind: store.Frame, Dir: transport.ServerToClient, Payload: s2c},
			{Seq: 3, Kind: store.Kind(s2c), Payload: c2s},
		}
		width = 60 + width&127
		screen := &runewidth.Condition{StrictEmojiNeutral: true}
		text := draw(t, width, list)
		drawn, _ := mermaid(t, sequence.MermaidLimit, list)
		for line := range strings.SplitSeq(text+drawn, "\n") {
			if n := screen.StringWidth(line); n > width && strings.Contains(text, line) {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("%q has what nobody sees", line)
			}
		}
	})
}

// TestRefusedAnswer: an answer that HTTP refuses ends no rail.
func TestRefusedAnswer(t *testing.T) {
	for lines, want := range map[int]string{13: "", 9: "no answer to #3 tools/call \"a\" (id 1), no answer to #5 elicitation/create (id 7)"} {
		var list []store.Event
		for e, err := range jsonl.Decode(strings.NewReader(strings.Join(strings.SplitAfter(replaytest.RefusedAnswer, "\n")[:lines], ""))) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		drawn := draw(t, 120, list)
		var open []string
		for line := range strings.Lines(drawn) {
			if _, text, found := strings.Cut(line, "no answer"); found {
				open = append(open, strings.TrimSpace("no answer"+strings.Split(text, "  ")[0]))
			}
		}
		if got := strings.Join(open, ", "); got != want {
			t.Errorf("%q, want %q, in\n%s", got, want, drawn)
		}
	}
}
