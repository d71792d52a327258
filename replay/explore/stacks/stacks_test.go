package stacks

import "testing"

// The head of a stack tells a system call that waits from one that works, where its
// frames are known.
func TestSyscallWait(t *testing.T) {
	const own = "main.run()\n\t/home/me/app/run.go:9 +0x1\n"
	for stack, want := range map[string]Wait{
		"syscall.Syscall6(0x1)\n\t/go/src/syscall/syscall_linux.go:96 +0x1\nos.(*Process).pidfdWait(0x1)\n\t/go/src/os/pidfd_linux.go:1 +0x1\n" + own: WaitCall,
		"syscall.wait4(0x1)\n\t/go/src/syscall/x.go:1 +0x1\n" + own:                                                                                   WaitCall,
		"syscall.Flock(0x1)\n\t/go/src/syscall/x.go:1 +0x1\n" + own:                                                                                   WaitCall,
		"syscall.write(0x1)\n\t/go/src/syscall/x.go:1 +0x1\n" + own:                                                                                   WaitSyscall,
		"main._Cfunc_work(0x1)\n\t_cgo_gotypes.go:1 +0x1\n" + own:                                                                                     WaitSyscall,
	} {
		if got := Parse("goroutine 7 [syscall, 2 minutes]:\n" + stack).Wait(); got != want {
			t.Errorf("got %d, want %d:\n%s", got, want, stack)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Goroutine{
		"goroutine 7 [select (durable), 2 minutes, synctest bubble 12]:\nmain.f(0x1)\n\t/a.go:1\ncreated by main.g in goroutine 6\n\t/a.go:2 +0x1": {ID: 7, Parent: 6, State: "select", Durable: true, Bubble: "synctest bubble 12"},
		"goroutine 9 [select labels:{\"a\": \"b, c]:\"}]:\nmain.f()\n\t/a.go:1":                                                                    {ID: 9, State: "select"},
		"goroutine 9 [running, synctest bubble 5 labels:{\"a\": \"b\"}]:\nmain.f()\n\t/a.go:1":                                                     {ID: 9, State: "running", Bubble: "synctest bubble 5"},
		"goroutine 9 [running, synctest bubble 5 lab":                                                                                              {ID: 9, State: "running", Bubble: "synctest bubble 5"},
		"goroutine 8 [chan receive (nil chan) (durable), synctest bubble 1]:\nmain.f()\n\t/a.go:1":                                                 {ID: 8, State: "chan receive (nil chan)", Durable: true, Bubble: "synctest bubble 1"},
		"goroutine 9 [sync.Mutex.Lock, locked to thread]:\nmain.f()\n\t/a.go:1\ncreated by time.goFunc\n\t/t.go:2":                                 {ID: 9, State: "sync.Mutex.Lock"},
		"goroutine 1 [running]:": {ID: 1, State: "running"},
	} {
		want.Text = text
		if got := Parse(text); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// Who only waits for a test, or for a run, holds no mutex of this one.
func TestOutsider(t *testing.T) {
	for text, want := range map[string]bool{
		"goroutine 7 [chan receive]:\nmain.work()\n\t/a.go:1\ncreated by main.init in goroutine 1\n\t/a.go:2":                                                                true,
		"goroutine 7 [sleep]:\ntime.Sleep(0x1)\n\t/a.go:1\nmain.work()\n\t/a.go:1\ncreated by main.init in goroutine 1\n\t/a.go:2":                                           true,
		"goroutine 7 [syscall]:\nmain._Cfunc_wait()\n\t/a.go:1\nmain.work()\n\t/a.go:1":                                                                                      true,
		"goroutine 7 [runnable, synctest bubble 4]:\nmain.work()\n\t/a.go:1":                                                                                                 false,
		"goroutine 1 [chan receive]:\ntesting.(*T).Run(0x1)\n\t/a.go:1\nmain.TestAll(0x1)\n\t/a.go:1\ntesting.tRunner(0x1)\n\t/a.go:1":                                       false,
		"goroutine 9 [syscall]:\nos/signal.signal_recv()\n\t/a.go:1\nos/signal.loop()\n\t/a.go:1\ncreated by os/signal.Notify.func1.1 in goroutine 1\n\t/a.go:1":             false,
		"goroutine 9 [select]:\nexample.com/x/replay/explore.(*bubble).await(0x1)\n\t/a.go:1\nexample.com/x/replay/explore.(*Run).play(0x1)\n\t/a.go:1\nmain.f()\n\t/a.go:1": false,
	} {
		if got := Parse(text).Outsider(); got != want {
			t.Errorf("%v, want %v:\n%s", got, want, text)
		}
	}
}

func TestPlace(t *testing.T) {
	for want, stack := range map[string]string{
		"[chan receive] sdk.(*Conn).wait conn.go:480, in sdk.(*Session).Close, called by app.stop main.go:12, by app.main.func1 main.go:7": `goroutine 7 [chan receive (durable), synctest bubble 1]:
sync.runtime_notifyListWait(0xc000012030, 0x0)
	/usr/local/go/src/sync/sema.go:597 +0x159
example.org/sdk.(*Conn).wait(0xc000012030)
	/root/go/pkg/mod/example.org/sdk@v1.8.0/conn.go:480 +0x1
example.org/sdk.(*Session).Close(...)
	/root/go/pkg/mod/example.org/sdk@v1.8.0/session.go:9
example.org/app.stop()
	/home/me/app/main.go:12 +0x2
example.org/app.main.func1()
	/home/me/app/main.go:7 +0x2
example.org/sdk.run()
	/root/go/pkg/mod/example.org/sdk@v1.8.0/run.go:1 +0x2
created by example.org/app.main in goroutine 1
	/home/me/app/main.go:5 +0x3`,
		"[select] app.run main.go:3": `goroutine 7 [select]:
app.run()
	app/main.go:3
example.org/sdk.serve()
	example.org/sdk@v1.8.0/serve.go:1`,
		"[sleep] app.run main.go:3": `goroutine 7 [sleep]:
time.Sleep(0x1)
	/usr/local/go/src/runtime/time.go:361 +0x1
app.run()
	app/main.go:3`,
		"[select] app.update main.go:3": `goroutine 7 [select (durable), synctest bubble 1]:
github.com/mcprec/mcprec/replay/explore/gate.Point({0x1, 0x2}, {0x3, 0x4})
	/home/me/mcprec/replay/explore/gate/point.go:71 +0x1
github.com/mcprec/mcprec/replay/explore.Point(...)
	/home/me/mcprec/replay/explore/loop.go:455
app.update()
	app/main.go:3`,
		"[chan send] app.(*Client).notify client.go:19": `goroutine 7 [chan send (durable), synctest bubble 1]:
example.org/app.(*Client).notify(0x1)
	/home/Ada Lovelace/my cöde/client.go:19 +0x1
created by example.org/app.main in goroutine 1
	/home/Ada Lovelace/my cöde/main.go:5 +0x3`,
		"[chan send] app.entry client.go:1, in sdk.Run, called by app.main main.go:2": `goroutine 7 [chan send]:
example.org/app.entry()
	/home/Ada Lovelace/mod cache/example.org/app@v1.2.3-pre/client.go:1
example.org/sdk.Run()
	/home/Ada Lovelace/mod cache/example.org/sdk@v0.0.0-20261101120000-abcdefabcdef/sdk.go:7
example.org/app.main()
	/home/Ada+0x1 @v/app/main.go:2 +0x9`,
		"[chan receive] time.wait time.go:3": `goroutine 7 [chan receive]:
sync.(*Cond).Wait(0x1)
	sync/cond.go:71 +0x1
example.org/src/time.wait()
	/home/me/src/example.org/src/time/time.go:3 +0x1
testing.tRunner(0x1)
	testing/testing.go:2036 +0x1`,
		"[chan send] main.run main.go:4": `goroutine 7 [chan send]:
main.run()
	/home/me/src/main/main.go:4 +0x1`,
		"": `goroutine 7 [running]:
created by example.org/app.main in goroutine 1
	/home/me/app/main.go:5 +0x3`,
	} {
		if got := (Dump{Parse("goroutine 77 [select]:"), Parse(stack)}).Place(7).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := (Dump{Parse("goroutine 7 [select]:\nx.y()\n\tz.go:1")}).Place(8).String(); got != "" {
		t.Errorf("another goroutine: %s", got)
	}
	if got := (Dump{Parse("goroutine 7 [running]:\nx.y()\n\tz.go:1")}).Place(7).String(); got != "" {
		t.Errorf("the engine's own: %s", got)
	}
}

// A handler is the caller's code under a library's: blocked in it, not in the library,
// and not at the gate.
func TestHandler(t *testing.T) {
	const (
		own     = "main.seen(0x1)\n\t/home/me/app/hang.go:16 +0x1\n"
		library = "example.org/sdk.(*Session).notify(0x1)\n\t/root/go/pkg/mod/example.org/sdk@v1.8.0/session.go:9 +0x1\n"
		sema    = "sync.(*WaitGroup).Wait(0x1)\n\t/usr/local/go/src/sync/waitgroup.go:118 +0x1\n"
		read    = "github.com/mcprec/mcprec/replay/explore/gate.(*End).Read(0x1)\n\t/root/go/pkg/mod/github.com/mcprec/mcprec@v1.0.0/replay/explore/gate/gate.go:117 +0x1\n"
		fixture = "github.com/mcprec/mcprec/fixtures.record(0x1)\n\t/root/go/pkg/mod/github.com/mcprec/mcprec@v1.0.0/fixtures/record.go:9 +0x1\n"
	)
	for name, test := range map[string]struct{ stack, line, by string }{
		"blocked in a handler":      {"[chan send (durable)]:\n" + own + library, "hang.go:16", "sdk.(*Session).notify"},
		"blocked below a handler":   {"[sync.WaitGroup.Wait]:\n" + sema + own + own + library, "hang.go:16", "sdk.(*Session).notify"},
		"blocked in the library":    {"[select]:\n" + library + own + library, "hang.go:16", "sdk.(*Session).notify"},
		"the library alone":         {"[select]:\n" + library + library, "", ""},
		"no library called it":      {"[chan send]:\n" + own, "", ""},
		"it waits for a message":    {"[select]:\n" + read + own + library, "", ""},
		"it runs":                   {"[running]:\n" + own + library, "", ""},
		"this project called it":    {"[chan send]:\n" + own + fixture, "", ""},
		"a library that started it": {"[chan send]:\n" + own + "created by example.org/sdk.run in goroutine 1\n\t/root/go/pkg/mod/example.org/sdk@v1.8.0/run.go:1 +0x1\n", "", ""},
	} {
		h, ok := Parse("goroutine 7 " + test.stack).Handler()
		if ok != (test.line != "") || ok && (h.Line != test.line || h.By != test.by || h.Goroutine != 7) {
			t.Errorf("%s: got %v %+v", name, ok, h)
		}
	}
}

// Who stands in another call of a library has left the first; who stands deeper in
// the same one has not.
func TestLeftLibrary(t *testing.T) {
	call, after := Call{"app.run", "app.go:1", false}, Call{"app.run", "app.go:2", false}
	send, wait := Call{"sdk.send", "sdk.go:1", true}, Call{"sdk.wait", "sdk.go:2", true}
	for name, test := range map[string]struct {
		then, now []Call
		want      bool
	}{
		"the same call":          {[]Call{call, send}, []Call{call, wait}, false},
		"another call":           {[]Call{call, send}, []Call{after, send}, true},
		"back in its own code":   {[]Call{call, send}, []Call{after}, true},
		"ended":                  {[]Call{call, send}, nil, true},
		"its own code all along": {[]Call{call}, []Call{after}, false},
		"the library's own":      {[]Call{send}, []Call{wait}, false},
	} {
		if got := LeftLibrary(test.then, test.now); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
