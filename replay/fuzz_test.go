package replay

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// FuzzExpectation: what a fixture expects is understood or refused, and says the same
// when it is written out.
func FuzzExpectation(f *testing.F) {
	f.Add("hang swallowed client=inbox:0; pass client=free capacity=10")
	f.Add("pass server=serial c2s=unbounded s2c=2")
	f.Add("hang head-on client=inbox:2147483648")
	f.Add("pass capacity=c2s=1,s2c=2")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseExpectation(text)
		if err != nil {
			return
		}
		for _, x := range list {
			again, err := ParseExpectation(x.String())
			if err != nil || len(again) != 1 || again[0] != x {
				t.Errorf("%q is %+v, written as %q, which is %+v, %v", text, x, x, again, err)
			}
			if x.Setup.Capacity.C2S < -1 || x.Setup.Capacity.S2C < -1 {
				t.Errorf("%q: %+v", text, x)
			}
		}
	})
}

// FuzzSetup: models, capacities and paces are understood or refused, and those that can
// be written are read as the same.
func FuzzSetup(f *testing.F) {
	f.Add("inbox:3")
	f.Add("c2s=1,s2c=unbounded")
	f.Add("0.5x")
	f.Add("uuid,time")
	f.Add(`{"c2s":1,"s2c":"unbounded"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseModel(text); err == nil {
			if again, err := ParseModel(m.String()); err != nil || again != m {
				t.Errorf("%q: %v, %v", text, again, err)
			}
		}
		c, err := ParseCapacity(text)
		if err != nil && json.Unmarshal([]byte(text), &c) != nil {
			c = Capacity{}
		}
		var again Capacity
		if written, err := json.Marshal(c); err != nil || json.Unmarshal(written, &again) != nil || again != c {
			t.Errorf("%q: %s, %+v, %v", text, written, again, err)
		}
		if p, err := ParsePacer(text, time.Hour); err == nil {
			if paced, ok := p.(Paced); ok && (paced.wait(time.Minute) < 0 || paced.wait(time.Minute) > time.Hour) {
				t.Errorf("%q waits %v", text, paced.wait(time.Minute))
			}
		}
		if list, err := ParseNormalizers(text); err == nil {
			for _, n := range list {
				n.Apply(text)
			}
		}
	})
}

// FuzzBody: what a recorded client sent over HTTP is read without believing it.
func FuzzBody(f *testing.F) {
	f.Add("2026-07-28", "tools/call", "echo", "application/json, text/event-stream", []byte(`{"id":1,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
	f.Add("", "", "=?base64?w6Q=?=", "*/*", []byte(`[{"id":1,"method":"initialize"}]`))
	f.Add("x", "y", "z", "text/html;q=0", []byte("no"))
	f.Fuzz(func(t *testing.T, version, method, name, accept string, body []byte) {
		h := http.Header{"Accept": {accept}, "Mcp-Protocol-Version": {version}, "Mcp-Method": {method}, "Mcp-Name": {name}}
		begins, broken, _ := readBody(h, body)
		if broken != (len(body) > 0 && !json.Valid(bytes.TrimSpace(body))) {
			t.Errorf("%q: broken %v", body, broken)
		}
		if begins && broken {
			t.Errorf("%q begins a session and is no message", body)
		}
		if got := formsOf(h, "application/json", eventStream); got == "unsaid" {
			t.Errorf("%q is unsaid", accept)
		}
	})
}
