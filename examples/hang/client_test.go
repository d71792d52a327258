package hang_test

import (
	"testing"

	"github.com/mcprec/mcprec/examples/hang"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/probe"
	"github.com/mcprec/mcprec/transport"
)

// TestCount plays a recorded server to the client in every order of delivery that
// 400 schedules find.
func TestCount(t *testing.T) {
	fx := fixtures.Load(t, "testdata/count.jsonl")
	fx.Explore(t, fixtures.AsServer, func(t testing.TB, conn transport.Conn) {
		client, err := hang.Connect(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		result, err := client.Call(t.Context(), "tools/call",
			`{"name":"count","arguments":{"text":"hello, world"},"_meta":{"progressToken":"p"}}`)
		if err != nil || len(result) == 0 {
			t.Errorf("call count: %s, %v", result, err)
		}
	})
}

// TestProbe measures how the client reads and writes: its receive loop waits for nobody.
func TestProbe(t *testing.T) {
	report := fixtures.Probe(t, fixtures.AsServer, probe.Options{}, func(t testing.TB, conn transport.Conn) {
		client, err := hang.Connect(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.Call(t.Context(), "tools/call", `{"name":"count","_meta":{"progressToken":"p"}}`); err != nil {
			t.Error(err)
		}
	})
	if report.Word() != "independent" {
		t.Errorf("the client is %s", report.Word())
	}
}
