package timeline

import (
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// TestInFlight: a response finds its request by the value of the id, however it is
// spelled, and of several the first.
func TestInFlight(t *testing.T) {
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
		var f InFlight[string]
		for _, id := range test.open {
			f.Open(transport.ClientToServer, 0, []byte(id), id)
		}
		if _, ok := f.Latest(transport.ServerToClient, []byte(test.ask)); ok {
			t.Errorf("%v: %s has a request the other way", test.open, test.ask)
		}
		got, ok := f.Close(transport.ClientToServer, 0, []byte(test.ask))
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%v: %s closes %q, want %q", test.open, test.ask, got, test.want)
		}
		for _, id := range test.open {
			f.Close(transport.ClientToServer, 0, []byte(id))
		}
		if len(f.calls) != 0 {
			t.Errorf("%v: %v are left", test.open, f.calls)
		}
	}
}

// TestInFlightMany: what has no request, and ids that are all the same, cost no look at
// every open request, of which there would be as many as the square.
func TestInFlightMany(t *testing.T) {
	const many = 200_000
	var f InFlight[int]
	for i := range many {
		f.Open(transport.ClientToServer, 0, fmt.Append(nil, i), i)
		f.Open(transport.ServerToClient, 0, []byte("1.0"), i)
	}
	for i := range many {
		if _, ok := f.Close(transport.ClientToServer, 0, fmt.Append(nil, i+many)); ok {
			t.Fatalf("%d was open", i+many)
		}
		if got, ok := f.Close(transport.ServerToClient, 0, []byte("1")); !ok || got != i {
			t.Fatalf("the first is %d, want %d", got, i)
		}
	}
}

// TestInFlightExchange: over HTTP a response belongs to the request of its own exchange,
// once; a stream without a request answers the first that is open and not refused.
func TestInFlightExchange(t *testing.T) {
	const slow, never, gone, resumed = 3, 4, 5, 9
	var f InFlight[int]
	id := []byte("5")
	for _, stream := range []int{slow, never, gone} {
		f.Open(transport.ClientToServer, uint64(stream), id, stream)
	}
	closes := func(stream uint64, want int) {
		t.Helper()
		if got, _ := f.Close(transport.ClientToServer, stream, id); got != want {
			t.Errorf("a response on %d closes the request of %d, want %d", stream, got, want)
		}
	}
	closes(never, never)
	closes(never, 0) // a second answer is not another's first
	f.Refuse(slow)
	if got, _ := f.Latest(transport.ClientToServer, id); got != gone {
		t.Errorf("the latest is of %d, want %d", got, gone)
	}
	closes(resumed, gone)
	closes(resumed, 0)
	closes(slow, slow) // the message in the refusal
	f.Open(transport.ClientToServer, slow, id, slow)
	f.Refuse(slow)
	for _, stream := range []uint64{slow, never, gone} {
		f.end(stream)
	}
	if len(f.calls)+len(f.on) != 0 {
		t.Errorf("%v and %v are left", f.calls, f.on)
	}
}
