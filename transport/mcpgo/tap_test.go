package mcpgo_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/client"
	sdk "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcpgo"
)

// TestTap: a session of the SDK's in-process pair has each message, as it was sent,
// and what the client was told.
func TestTap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		r, err := recorder.New(t.Context(), s, store.Header{Transport: "memory"})
		if err != nil {
			t.Fatal(err)
		}
		c := client.NewClient(mcpgo.Tap(sdk.NewInProcessTransport(counting()), r))
		want := []string{"c2s request initialize 1", "s2c response  1", "c2s notification notifications/initialized "}
		c.OnNotification(func(n mcp.JSONRPCNotification) { want = append(want, "s2c notification "+n.Method+" ") })
		if err := initialize(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want = append(want, "c2s request tools/call 2")
		request := mcp.CallToolRequest{}
		request.Params.Name = "count"
		_, refused := c.CallTool(t.Context(), request) // by early releases, which have no session here
		synctest.Wait()
		want = append(want, "s2c response  2")
		c.Close()
		if sum := r.Close(); sum.Err != nil || sum.Lost > 0 {
			t.Errorf("the recording has %d lost, %v", sum.Lost, sum.Err)
		}
		got := outlines(t, s, r.ID())
		slices.Sort(got) // the result may have overtaken what the client was told
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
		if told := len(want) - 5; refused == nil && told != 3 {
			t.Errorf("of 3 notifications %d came", told)
		}
	})
}

// outlines are the recorded frames.
func outlines(t *testing.T, s *memstore.Store, id store.SessionID) (list []string) {
	t.Helper()
	for e, err := range s.Read(t.Context(), id, 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == store.Frame {
			list = append(list, e.Dir.String()+" "+outline(t, e.AsFrame()))
		}
	}
	return list
}

func outline(t *testing.T, f transport.Frame) string {
	t.Helper()
	messages, err := f.Messages()
	if err != nil {
		t.Fatalf("frame %s: %v", f.Bytes, err)
	}
	m := messages[0]
	return m.Kind().String() + " " + m.Method + " " + string(m.ID)
}
