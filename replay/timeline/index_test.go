package timeline

import (
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// TestIndex: a response finds its request by the value of the id, however it is
// spelled, and of several the first.
func TestIndex(t *testing.T) {
	for _, test := range []struct {
		open []string
		ask  string
		want string
	}{
		{[]string{"1", "2"}, "1", "1"},
		{[]string{"1", "2"}, "3", ""},
		{[]string{"1"}, `"1"`, ""},
		{[]string{`"1"`}, "1", ""},
		{[]string{"1e2"}, "100", "1e2"},
		{[]string{"100"}, "1e2", "100"},
		{[]string{"100"}, "100.0", "100"},
		{[]string{"100", "1e2"}, "100.0", "100"},
		{[]string{"1e2", "100"}, "100", "1e2"},
		{[]string{`"\u0061"`}, `"a"`, `"\u0061"`},
		{[]string{"-0"}, "0", "-0"},
		{[]string{"0"}, "-0", "0"},
		{[]string{"9007199254740993"}, "9007199254740992", ""},
		{[]string{"1e400"}, "2e400", ""},
		{[]string{"01"}, "1", ""},
	} {
		var f Index[mcp.Key, string]
		for _, id := range test.open {
			f.Ask(transport.ClientToServer, 0, mcp.KeyOf([]byte(id)), "", id)
		}
		if _, ok := f.Cancel(transport.ServerToClient, mcp.KeyOf([]byte(test.ask))); ok {
			t.Errorf("%v: %s has a request the other way", test.open, test.ask)
		}
		got, ok := f.Answer(transport.ClientToServer, 0, mcp.KeyOf([]byte(test.ask)))
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%v: %s answers %q, want %q", test.open, test.ask, got, test.want)
		}
		for _, id := range test.open {
			f.Answer(transport.ClientToServer, 0, mcp.KeyOf([]byte(id)))
		}
		if len(f.ids) != 0 {
			t.Errorf("%v: %v are left", test.open, f.ids)
		}
	}
}

// TestIndexMany: what has no request, and ids that are all the same, cost no look at
// every open request, of which there would be as many as the square.
func TestIndexMany(t *testing.T) {
	const many = 200_000
	var f Index[mcp.Key, int]
	for i := range many {
		f.Ask(transport.ClientToServer, 0, mcp.KeyOf(fmt.Append(nil, i)), "t", i)
		f.Ask(transport.ServerToClient, 0, mcp.KeyOf([]byte("1.0")), "", i)
	}
	for i := range many {
		if _, ok := f.Answer(transport.ClientToServer, 0, mcp.KeyOf(fmt.Append(nil, i+many))); ok {
			t.Fatalf("%d was open", i+many)
		}
		if got, ok := f.Answer(transport.ServerToClient, 0, mcp.KeyOf([]byte("1"))); !ok || got != i {
			t.Fatalf("the first is %d, want %d", got, i)
		}
	}
}

// TestIndexExchange: over HTTP a response belongs to the request of its own exchange, once;
// a stream without a request answers the first that is open and not refused.
func TestIndexExchange(t *testing.T) {
	const slow, never, gone, resumed = 3, 4, 5, 9
	f := NewIndex[mcp.Key, int](All)
	for _, stream := range []int{slow, never, gone} {
		f.Ask(transport.ClientToServer, uint64(stream), "5", "t", stream)
	}
	answers := func(stream uint64, want int) {
		t.Helper()
		if got, _ := f.Answer(transport.ClientToServer, stream, "5"); got != want {
			t.Errorf("a response on %d answers the request of %d, want %d", stream, got, want)
		}
	}
	reports := func(stream uint64, want int) {
		t.Helper()
		if got, _ := f.Progress(transport.ClientToServer, stream, "t"); got != want {
			t.Errorf("progress on %d belongs to the request of %d, want %d", stream, got, want)
		}
	}
	reports(slow, slow)
	reports(resumed, gone)
	answers(never, never)
	answers(never, 0) // a second answer is not another's first
	reports(never, never)
	f.Refuse(slow)
	if got, _ := f.Cancel(transport.ClientToServer, "5"); got != gone {
		t.Errorf("a cancellation belongs to %d, want %d", got, gone)
	}
	answers(resumed, gone)
	answers(resumed, 0)
	reports(resumed, gone)
	answers(slow, slow) // the message in the refusal
	if got, _ := f.Past(transport.ClientToServer, never, "5"); got != never {
		t.Errorf("a second answer on %d belongs to %d", never, got)
	}
	f.Ask(transport.ClientToServer, slow, "5", "t", slow)
	f.Refuse(slow)
	for _, stream := range []uint64{slow, never, gone} {
		f.End(stream)
	}
	if len(f.ids)+len(f.tokens)+len(f.exchanges) != 0 {
		t.Errorf("%v, %v and %v are left", f.ids, f.tokens, f.exchanges)
	}
}

// TestIndexPast: a limited Index finds the latest requests that are over, and no other.
func TestIndexPast(t *testing.T) {
	const limit, many = 4, 11
	f := NewIndex[int, int](limit)
	for i := 1; i <= many; i++ {
		f.Ask(transport.ClientToServer, 0, i, i*100, i)
		f.Answer(transport.ClientToServer, 0, i)
	}
	for i := 1; i <= many; i++ {
		_, past := f.Past(transport.ClientToServer, 0, i)
		_, late := f.Progress(transport.ClientToServer, 0, i*100)
		if want := i > many-limit; past != want || late != want {
			t.Errorf("request %d of %d: found by its id %t, by its token %t", i, many, past, late)
		}
	}
	if len(f.pastIDs) != limit || len(f.pastTokens) != limit {
		t.Errorf("%d ids and %d tokens are held, want %d", len(f.pastIDs), len(f.pastTokens), limit)
	}
}
