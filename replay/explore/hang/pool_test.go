package hang

import (
	"fmt"
	"testing"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

// handlerStack is the stack of a handler that asks the client, under a library's dispatcher.
func handlerStack(id int, line string) stacks.Goroutine {
	return stacks.Parse(fmt.Sprintf("goroutine %d [select]:\n"+
		"lib.(*ServerSession).Ask()\n\t/go/pkg/mod/lib@v1.0.0/ask.go:%s\n"+
		"main.tool()\n\t/home/me/main.go:7\n"+
		"lib.(*Server).callTool()\n\t/go/pkg/mod/lib@v1.0.0/server.go:9\ncreated by lib.(*Server).Run in goroutine 3\n\t/go/pkg/mod/lib@v1.0.0/server.go:2", id, line))
}

// A pool is told from handlers at one place, and a later request without a handler.
func TestPool(t *testing.T) {
	for name, test := range map[string]struct {
		asked    []string // the methods of the requests, by the order of their gives
		handlers int      // of the first requests
		lines    []string // of the handlers
		want     string
	}{
		"two handlers, a third request": {[]string{"tools/call", "tools/call", "tools/call"}, 2, []string{"5", "5"}, `tools/call "t"#3`},
		"as many handlers":              {[]string{"tools/call", "tools/call"}, 2, []string{"5", "5"}, ""},
		"a single handler":              {[]string{"tools/call", "tools/call"}, 1, []string{"5"}, ""},
		"at two places":                 {[]string{"tools/call", "tools/call", "tools/call"}, 2, []string{"5", "6"}, ""},
		"another method":                {[]string{"tools/call", "tools/call", "ping"}, 2, []string{"5", "5"}, ""},
	} {
		g := gate.New(gate.Options{})
		tracer := &Tracer{
			Gate: g, handlers: map[int]*gate.Flight{}, began: map[*gate.Flight]int{},
			Own: func(all stacks.Dump) stacks.Dump { return all }, Goroutines: func() map[string]int { return nil },
		}
		d := &diagnosis{Scene: Scene{Gate: g, Tracer: tracer}}
		for i, method := range test.asked {
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"t"}}`, i+1, method)
			g.Names.Name(transport.ClientToServer, transport.Frame{Bytes: []byte(frame)})
			f := g.Names.Calls[i].Request
			f.Given = i + 1
			if i < test.handlers {
				d.all = append(d.all, handlerStack(i+10, test.lines[i]))
				tracer.handlers[i+10], tracer.began[f] = f, i+1
			}
		}
		got := ""
		if p := usedUpPool(d); p != nil {
			got = p.next.Name
		}
		if got != test.want {
			t.Errorf("%s: the request without a handler is %q, want %q", name, got, test.want)
		}
	}
}
