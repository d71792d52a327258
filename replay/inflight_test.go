package replay

import (
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// TestInFlight: a response finds its request by the value of the id, however it is
// spelled, and of several the latest.
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
		{[]string{"100", "1e2"}, "100.0", "1e2"},
		{[]string{"100", "1e2"}, "100", "1e2"},
		{[]string{`"\u0061"`}, `"a"`, `"\u0061"`},
		{[]string{"-0"}, "0", "-0"},
		{[]string{"0"}, "-0", "0"},
		{[]string{"9007199254740993"}, "9007199254740992", ""},
		{[]string{"1e400"}, "2e400", ""},
		{[]string{"01"}, "1", ""},
	} {
		var f inFlight[string]
		for _, id := range test.open {
			f.open(transport.ClientToServer, []byte(id), id)
		}
		if _, ok := f.latest(transport.ServerToClient, []byte(test.ask)); ok {
			t.Errorf("%v: %s has a request the other way", test.open, test.ask)
		}
		got, ok := f.close(transport.ClientToServer, []byte(test.ask))
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%v: %s closes %q, want %q", test.open, test.ask, got, test.want)
		}
		for _, id := range test.open {
			f.close(transport.ClientToServer, []byte(id))
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
	var f inFlight[int]
	for i := range many {
		f.open(transport.ClientToServer, fmt.Append(nil, i), i)
		f.open(transport.ServerToClient, []byte("1.0"), i)
	}
	for i := range many {
		if _, ok := f.close(transport.ClientToServer, fmt.Append(nil, i+many)); ok {
			t.Fatalf("%d was open", i+many)
		}
		if got, ok := f.close(transport.ServerToClient, []byte("1")); !ok || got != many-1-i {
			t.Fatalf("the latest is %d, want %d", got, many-1-i)
		}
	}
}
