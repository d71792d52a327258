package explore

import "testing"

// A handler is the caller's code under a library's: blocked in it, not in the library,
// and not at the gate.
func TestHandlerOf(t *testing.T) {
	const (
		own     = "main.seen(0x1)\n\t/home/me/app/hang.go:16 +0x1\n"
		library = "example.org/sdk.(*Session).notify(0x1)\n\t/root/go/pkg/mod/example.org/sdk@v1.8.0/session.go:9 +0x1\n"
		sema    = "sync.(*WaitGroup).Wait(0x1)\n\t/usr/local/go/src/sync/waitgroup.go:118 +0x1\n"
		read    = "github.com/mcprec/mcprec/replay/explore.(*end).Read(0x1)\n\t/root/go/pkg/mod/github.com/mcprec/mcprec@v1.0.0/replay/explore/gate.go:117 +0x1\n"
		fixture = "github.com/mcprec/mcprec/fixtures.record(0x1)\n\t/root/go/pkg/mod/github.com/mcprec/mcprec@v1.0.0/fixtures/record.go:9 +0x1\n"
	)
	for name, test := range map[string]struct{ stack, line, by string }{
		"blocked in a handler":      {"[chan send (durable)]:\n" + own + library, "hang.go:16", "sdk.(*Session).notify"},
		"blocked below a handler":   {"[sync.WaitGroup.Wait]:\n" + sema + own + own + library, "hang.go:16", "sdk.(*Session).notify"},
		"blocked in the library":    {"[select]:\n" + library + own + library, "hang.go:16", "sdk.(*Session).notify"},
		"the library alone":         {"[select]:\n" + library + library, "", ""},
		"no library called it":      {"[chan send]:\n" + own, "", ""},
		"it waits for a frame":      {"[select]:\n" + read + own + library, "", ""},
		"it runs":                   {"[running]:\n" + own + library, "", ""},
		"this project called it":    {"[chan send]:\n" + own + fixture, "", ""},
		"a library that started it": {"[chan send]:\n" + own + "created by example.org/sdk.run in goroutine 1\n\t/root/go/pkg/mod/example.org/sdk@v1.8.0/run.go:1 +0x1\n", "", ""},
	} {
		h, ok := handlerOf("goroutine 7 " + test.stack)
		if ok != (test.line != "") || ok && (h.line != test.line || h.by != test.by || h.goroutine != "7") {
			t.Errorf("%s: got %v %+v", name, ok, h)
		}
	}
}

// Who stands in another call of a library has left the first; who stands deeper in
// the same one has not.
func TestLeftLibrary(t *testing.T) {
	call, after := spot{"app.run", "app.go:1", false}, spot{"app.run", "app.go:2", false}
	send, wait := spot{"sdk.send", "sdk.go:1", true}, spot{"sdk.wait", "sdk.go:2", true}
	for name, test := range map[string]struct {
		then, now []spot
		want      bool
	}{
		"the same call":          {[]spot{call, send}, []spot{call, wait}, false},
		"another call":           {[]spot{call, send}, []spot{after, send}, true},
		"back in its own code":   {[]spot{call, send}, []spot{after}, true},
		"ended":                  {[]spot{call, send}, nil, true},
		"its own code all along": {[]spot{call}, []spot{after}, false},
		"the library's own":      {[]spot{send}, []spot{wait}, false},
	} {
		if got := leftLibrary(test.then, test.now); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
