package check_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// hostile are frames that cost a careless reader its stack, its memory or its time.
func hostile() []string {
	keys := make([]string, 100_000)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return []string{
		strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		`{"id":1,"method":"x","params":` + strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000) + "}",
		`{"id":1,"method":"x","params":{` + strings.Join(keys, ",") + "}}",
		"[" + strings.Repeat(`{"id":1,"method":"x"},`, 10_000) + `{"id":1,"method":"x"}]`,
		`{"id":` + strings.Repeat("9", 100_000) + `,"method":"x"}`,
		`{"id":{"a":[]},"method":"x","params":{"_meta":{"progressToken":[1]}}}`, `{"id":true,"result":0}`, `{"id":1.5,"result":null}`, `{"id":"\ud800","error":1}`,
	}
}

// shaken is a handshake, so that a revision is settled.
var shaken = []string{`> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, `< {"id":0,"result":{"protocolVersion":"2025-11-25"}}`,
	`> {"method":"notifications/initialized"}`}

// TestHostile: such frames are judged like any other, in either direction.
func TestHostile(t *testing.T) {
	var text []string
	for _, frame := range hostile() {
		text = append(text, "> "+frame, "< "+frame)
	}
	found, _ := findings(t, check.Gate{Schema: &schema.Validator{}}, append(lines(shaken...), lines(text...)...))
	if len(found) < len(text)/2 {
		t.Errorf("only %v", found)
	}
	for _, f := range found {
		if len(f.Text) > 1000 {
			t.Errorf("%s says %d bytes", f.Rule, len(f.Text))
		}
	}
}

// TestLong: long sequences of what a careless fold would compare with all before it.
func TestLong(t *testing.T) {
	const many = 10_000
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"info","progressToken":%[1]d}`
	for _, sequence := range []struct {
		line string
		each int // findings of each line, about
	}{
		{`> {"id":%[1]d,"method":"tools/call","params":{"name":"t%[1]d"}}`, 1},
		{`> {"id":1,"method":"tools/call"}`, 1},
		{`< {"id":%[1]d,"method":"sampling/createMessage"}`, 1},
		{`< {"id":%[1]d,"result":{}}`, 1},
		{`> {"id":%[1]d,"method":"x","params":{` + meta + `}}` + "\n" + `< {"method":"notifications/message","params":{}}`, 1},
		{`> {"id":%[1]d,"method":"x","params":{"task":{}}}` + "\n" + `< {"id":%[1]d,"result":{"task":{"taskId":"a","status":"working"}}}` + "\n" +
			`< {"method":"notifications/tasks/status","params":{"taskId":"a","status":"completed"}}`, 0},
		{`> {"method":"notifications/cancelled","params":{"requestId":%[1]d}}`, 1},
		{`> {"id":%[1]d,"method":"tools/call","params":{"name":"x","requestState":"%[1]d",` + meta + `}}` + "\n" + `< {"id":%[1]d,"result":{"resultType":"input_required","requestState":"s%[1]d"}}`, 1},
	} {
		n := 0
		f := check.New(check.Gate{}, func(check.Finding) { n++ })
		model := timeline.NewModel(timeline.Remembered)
		seq := uint64(0)
		for i := range many {
			for line := range strings.SplitSeq(fmt.Sprintf(sequence.line, i), "\n") {
				seq++
				e := store.Event{Seq: seq, At: time.Duration(i), Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(line[2:])}
				if line[0] == '<' {
					e.Dir = transport.ServerToClient
				}
				if err := f.Take(model.Take(e)); err != nil {
					t.Fatal(err)
				}
			}
		}
		f.Close(0)
		if sequence.each > 0 && n < many/2 {
			t.Errorf("%s: %d findings", sequence.line, n)
		}
	}
}

// FuzzFold: no log that a store would take makes the fold panic, and what it gives
// out says something.
func FuzzFold(f *testing.F) {
	header := `{"mcprec":1,"transport":"http"}` + "\n"
	for _, text := range []string{
		`{"dir":"c2s","frame":{"id":1,"method":"tools/call","params":{"name":"x"}}}` + "\n" + `{"dir":"s2c","frame":{"id":1,"result":{"isError":true}}}`,
		`{"kind":"http","dir":"c2s","stream":1,"data":{"what":"request","method":"POST","path":"/"}}` + "\n" + `{"dir":"c2s","stream":1,"frame":{"id":1,"method":"initialize"}}` + "\n" +
			`{"kind":"http","dir":"s2c","stream":1,"data":{"what":"response","status":200,"header":{"Mcp-Session-Id":["s"]}}}` + "\n" + `{"kind":"http","dir":"s2c","stream":1,"data":{"what":"broken"}}`,
		`{"kind":"eof","dir":"s2c","data":{"by":"sender"}}` + "\n" + `{"dir":"s2c","text":"noise"}` + "\n" + `{"kind":"exit","data":{"code":1}}` + "\n" + `{"kind":"lost","data":{"messages":1}}`,
		`{"kind":"http","dir":"c2s","stream":3,"data":{"what":"request","method":"GET","header":{"last-event-id":["a"],"mcp-protocol-version":["2025-11-25"]}}}` + "\n" +
			`{"kind":"http","dir":"s2c","stream":3,"data":{"what":"event","sse":{"id":"a"}}}` + "\n" + `{"dir":"s2c","stream":3,"frame":{"id":1,"result":{}}}` + "\n" + `{"kind":"delivered","dir":"s2c","stream":3,"data":{"upto":4}}`,
		`{"dir":"c2s","frame":{"id":1,"method":"tools/call","params":{"name":"x","requestState":"s","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}` + "\n" +
			`{"dir":"s2c","frame":{"id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"b"}}}}}` + "\n" + `{"kind":"note","data":"token mcprec1.0-u.delivery.a.default"}`,
		`{"dir":"c2s","frame":{"id":1,"method":"tools/list"}}` + "\n" + `{"dir":"s2c","frame":{"id":1,"result":{"tools":[{"name":"x","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}}]}}}`,
	} {
		f.Add([]byte(header + text))
	}
	schemas := &schema.Validator{}
	f.Fuzz(func(t *testing.T, data []byte) {
		trusted := check.NewBaseline("x")
		fold := check.New(check.Gate{MaxDuration: 1, Forbid: []string{"x"}, Baseline: trusted, Schema: schemas}, func(f check.Finding) {
			if f.Text == "" || f.Rule == "" || f.Title == "" || len(f.Events) == 0 || f.Severity == 0 || strings.Contains(f.Text, "%!") {
				t.Errorf("%+v says too little", f)
			}
		})
		var valid store.Validator
		for step, err := range timeline.Steps(jsonl.Decode(bytes.NewReader(data))) {
			if err != nil || valid.Check(step.Event) != nil || trusted.Take(step) != nil || fold.Take(step) != nil {
				return
			}
		}
		fold.Close(0)
	})
}
