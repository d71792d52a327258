package view

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines writes a session as text. Its events are a millisecond apart.
type lines struct {
	strings.Builder
	seq int
}

// add adds an event with some members.
func (x *lines) add(members string, args ...any) {
	x.seq++
	fmt.Fprintf(x, `{"seq":%d,"at":"%dms",`, x.seq, x.seq)
	fmt.Fprintf(x, members, args...)
	x.WriteString("}\n")
}

func (x *lines) c2s(frame string, args ...any) {
	x.add(`"dir":"c2s","frame":%s`, fmt.Sprintf(frame, args...))
}

func (x *lines) s2c(frame string, args ...any) {
	x.add(`"dir":"s2c","frame":%s`, fmt.Sprintf(frame, args...))
}

func (x *lines) call(n int) {
	x.c2s(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","_meta":{"progressToken":%d}}}`, n, n)
}

func (x *lines) result(n int) { x.s2c(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, n) }

// stream opens an exchange whose answer is a stream of events.
func (x *lines) stream(n int) {
	x.add(`"kind":"http","dir":"c2s","stream":%d,"data":{"what":"request","method":"POST","path":"/mcp"}`, n)
	x.add(`"dir":"c2s","stream":%d,"frame":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search"}}`, n, n)
	x.add(`"kind":"http","dir":"s2c","stream":%d,"data":{"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`, n)
}

// batch joins n messages.
func batch(n int, message string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(message, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// shapes are sessions in which something is there n times.
var shapes = map[string]func(x *lines, n int){
	"open requests": func(x *lines, n int) {
		for i := range n {
			x.call(i)
		}
	},
	"requests of the server": func(x *lines, n int) {
		for i := range n {
			x.s2c(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
		}
	},
	"requests answered at the end": func(x *lines, n int) {
		for i := range n {
			x.call(i)
		}
		for i := range n {
			x.result(i)
		}
	},
	"a batch, answered one by one": func(x *lines, n int) {
		x.c2s("%s", batch(n, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`))
		for i := range n {
			x.result(i)
		}
	},
	"batches": func(x *lines, n int) {
		x.c2s("%s", batch(n, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`))
		x.s2c("%s", batch(n, `{"jsonrpc":"2.0","id":%d,"result":{}}`))
	},
	"calls with progress": func(x *lines, n int) {
		for i := range n {
			x.call(i)
			x.s2c(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, i)
			x.result(i)
		}
	},
	"progress of open calls": func(x *lines, n int) {
		for i := range n {
			x.call(i)
			x.s2c(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, i)
		}
	},
	"cancelled calls, answered late": func(x *lines, n int) {
		for i := range n {
			x.call(i)
			x.c2s(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)
		}
		for i := range n {
			x.result(i)
		}
	},
	"open requests and lost answers": func(x *lines, n int) {
		for i := range n {
			x.call(i)
			x.add(`"kind":"lost","data":{"messages":1,"reason":"full","streams":["s2c"]}`)
		}
	},
	"open streams": func(x *lines, n int) {
		for i := range n {
			x.stream(i + 1)
		}
	},
	"open streams that block": func(x *lines, n int) {
		for i := range n {
			x.stream(i + 1)
			x.add(`"dir":"s2c","stream":%d,"frame":{"jsonrpc":"2.0","method":"notifications/message"}`, i+1)
			x.add(`"kind":"delivered","dir":"s2c","stream":%d,"data":{"upto":1,"blocked_ns":1000}`, i+1)
		}
	},
	"tasks": func(x *lines, n int) {
		for i := range n {
			x.c2s(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","task":{}}}`, i)
			x.s2c(`{"jsonrpc":"2.0","id":%d,"result":{"task":{"taskId":"t%d","status":"working"}}}`, i, i)
		}
	},
	"subscriptions": func(x *lines, n int) {
		for i := range n {
			x.c2s(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"file:///%d"}}`, i, i)
			x.s2c(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i)
		}
	},
	"findings": func(x *lines, n int) {
		for i := range n {
			x.result(i) // to no request
		}
	},
	"pages of a list": func(x *lines, n int) {
		for i := range n {
			x.c2s(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"cursor":"%d"}}`, i, i)
			x.s2c(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}}`, i, i, i+1)
		}
	},
	"changed lists": func(x *lines, n int) {
		for i := range n {
			x.s2c(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			x.c2s(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
			x.s2c(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}]}}`, i, i)
		}
	},
}

// shaped returns the path of a session of a shape.
func shaped(t *testing.T, write func(x *lines, n int), n int) string {
	t.Helper()
	x := &lines{seq: 1}
	x.WriteString(`{"mcprec":1,"id":"01900000-0000-7000-8000-000000000000","start":"2026-01-01T00:00:00Z","transport":"stdio","command":["server"],"recorder":"mcprec"}` + "\n")
	x.c2s(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	x.s2c(`{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
	x.c2s(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	write(x, n)
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, []byte(x.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// isLinear holds the sizes of n, 2n and 4n things: what the second n add is at most 2.6 times what the
// first do, so that what is always there does not count.
func isLinear(t *testing.T, what string, sizes [3]int) {
	t.Helper()
	if first, second := sizes[1]-sizes[0], sizes[2]-sizes[1]; first <= 0 || 10*second > 26*first {
		t.Errorf("%s: %d B, %d B, %d B for n, 2n, 4n", what, sizes[0], sizes[1], sizes[2])
	}
}

// TestDataIsLinear: what the page knows of a session grows as the session does, whatever stands open.
func TestDataIsLinear(t *testing.T) {
	for name, write := range shapes {
		t.Run(name, func(t *testing.T) {
			parts := map[string]*[3]int{}
			for double := range 3 {
				s := openFixture(t, shaped(t, write, 100<<double))
				opened, err := openSource(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				x := newIndex(opened)
				x.grow(t.Context())
				d, _, err := newShown(Options{}).data(t.Context(), x)
				if err != nil {
					t.Fatal(err)
				}
				for part, value := range map[string]any{"the whole": d, "rows": d.Rows, "states": d.States, "frames": d.Frames} {
					text, err := json.Marshal(value)
					if err != nil {
						t.Fatal(err)
					}
					if parts[part] == nil {
						parts[part] = &[3]int{}
					}
					parts[part][double] = len(text)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			for part, sizes := range parts {
				if name == "batches" && part != "frames" && part != "the whole" {
					continue // of two events
				}
				isLinear(t, part, *sizes)
			}
		})
	}
}

// TestFileIsLinear: so does the whole file, with its replays.
func TestFileIsLinear(t *testing.T) {
	for _, name := range []string{"open requests", "calls with progress", "batches"} {
		t.Run(name, func(t *testing.T) {
			var sizes [3]int
			for double := range sizes {
				page, _ := exported(t, false, shaped(t, shapes[name], 40<<double))
				sizes[double] = len(page)
			}
			isLinear(t, "the file", sizes)
		})
	}
}
