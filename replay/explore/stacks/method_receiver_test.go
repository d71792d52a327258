package stacks

import (
	"slices"
	"testing"
)

func TestReceivers(t *testing.T) {
	g := Parse(`goroutine 7 [sync.Mutex.Lock, synctest bubble 3]:
internal/sync.(*Mutex).lockSlow(0xc00008dcf0)
	/usr/local/go/src/internal/sync/mutex.go:149 +0x1
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:46
example.org/rpc.(*Conn).read(0xc00008dce0, {0x9df028, 0xc0000ba500})
	/home/me/rpc/conn.go:42 +0x1
example.org/rpc.(*Conn).serve.func1(0x1)
	/home/me/rpc/conn.go:12 +0x1
example.org/rpc.(*Pool).run(0xc00008dd00?)
	/home/me/rpc/pool.go:12 +0x1
example.org/rpc.(*Conn).inlined(...)
	/home/me/rpc/conn.go:2
main.main()
	/home/me/main.go:2 +0x1
created by example.org/rpc.(*Conn).start in goroutine 1
	/home/me/rpc/conn.go:5 +0x3`)
	want := []Receiver{
		{"example.org/rpc.(*Conn)", "0xc00008dce0"}, {"example.org/rpc.(*Conn)", ""},
		{"example.org/rpc.(*Pool)", ""}, {"example.org/rpc.(*Conn)", ""},
	}
	if got := g.Receivers(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if r, ok := g.Receiver(); !ok || r != want[0] {
		t.Errorf("got %v %v, want %v", r, ok, want[0])
	}
	const closure = "goroutine 7 [sync.Mutex.Lock]:\nsync.(*Mutex).Lock(...)\n\t/m.go:1\nmain.f.func1()\n\t/a.go:1\nmain.(*T).g(0xc00008dce0)\n\t/a.go:1"
	if r, ok := Parse(closure).Receiver(); ok {
		t.Errorf("a closure has the receiver %v", r)
	}
}
