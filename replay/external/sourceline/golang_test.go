package sourceline

import (
	"slices"
	"testing"
)

// TestReadGo: what waits for a lock, sends or writes is told first, then what the program has called, and last what a library
// waits for by itself, such as signals. A call of a library has both lines: that of the library, and the program's own.
func TestReadGo(t *testing.T) {
	const dump = `some log
SIGQUIT: quit
PC=0x1 m=0 sigcode=0

goroutine 1 [IO wait]:
internal/poll.(*FD).Read(0x1)
	/usr/lib/go/src/internal/poll/fd_unix.go:164 +0x1
example.com/sdk/stdio.(*Server).Listen(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/stdio/stdio.go:70 +0x1
main.main()
	/my cöde/main.go:9 +0x1

goroutine 6 [select]:
example.com/sdk/stdio.(*Server).worker(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/stdio/worker.go:30 +0x1
created by example.com/sdk/stdio.(*Server).Listen in goroutine 1
	/root/go/pkg/mod/example.com/sdk@v1.2.3/stdio/stdio.go:60 +0x1

goroutine 7 [select, 2 minutes]:
main.tick(0x1)
	/my cöde/main.go:80 +0x1

goroutine 8 [sync.RWMutex.Lock]:
sync.runtime_SemacquireRWMutex(0x1)
	/usr/lib/go/src/runtime/sema.go:105 +0x1
sync.(*RWMutex).Lock(0x1)
	/usr/lib/go/src/sync/rwmutex.go:155 +0x1
example.com/sdk/server.(*Server).AddTool(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/server/server.go:310 +0x1
main.register(0x1)
	/my cöde/main.go:29 +0x1
main.handle(0x1)
	/my cöde/main.go:20 +0x1

goroutine 5 [chan receive]:
example.com/sdk/stdio.awaitSignal(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/stdio/stdio.go:20 +0x1

goroutine 9 [chan receive]:
main.wait(0x1)
	/my cöde/main.go:50 +0x1

goroutine 11 [sync.Mutex.Lock]:
example.com/sdk/deep.a(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/deep/deep.go:1 +0x1
example.com/sdk/deep.b(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/deep/deep.go:2 +0x1
example.com/sdk/deep.c(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/deep/deep.go:3 +0x1
example.com/sdk/deep.d(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/deep/deep.go:4 +0x1
main.call(0x1)
	/my cöde/main.go:60 +0x1

goroutine 10 [IO wait]:
internal/poll.(*FD).Write(0x1)
	/usr/lib/go/src/internal/poll/fd_unix.go:381 +0x1
example.com/sdk/stdio.(*Server).notify(0x1)
	/root/go/pkg/mod/example.com/sdk@v1.2.3/stdio/stdio.go:99 +0x1
`
	want := []string{
		"held at server.go:310 (server.(*Server).AddTool), sync.RWMutex.Lock, called from main.go:29 (main.register), from main.go:20 (main.handle)",
		"held at deep.go:1 (deep.a), sync.Mutex.Lock, called from deep.go:2 (deep.b), from deep.go:3 (deep.c), from main.go:60 (main.call)",
		"held at stdio.go:99 (stdio.(*Server).notify), IO wait",
		"held at main.go:50 (main.wait), chan receive",
		"held at main.go:80 (main.tick), select",
		"held at stdio.go:20 (stdio.awaitSignal), chan receive",
		"held at worker.go:30 (stdio.(*Server).worker), select",
	}
	if got := readGo([]byte(dump)).Words(9); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
