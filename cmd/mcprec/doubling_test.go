//go:build unix && night

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
)

// fixture is a session as it is written, of a shape that can be of any size.
type fixture struct {
	strings.Builder
	seq int
}

// newFixture begins a session: at an HTTP transport without a handshake, else with one.
func newFixture(transport string) *fixture {
	f := &fixture{seq: 1}
	fmt.Fprintf(f, `{"mcprec":1,"id":"01900000-0000-7000-8000-000000000000","start":"2026-01-01T00:00:00Z","transport":%q,"label":"doubling","command":["server"],"recorder":"mcprec"}`+"\n", transport)
	if transport == "stdio" {
		f.frame("c2s", `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`)
		f.frame("s2c", `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}`)
		f.frame("c2s", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return f
}

// event adds an event with further members; the events are a millisecond apart.
func (f *fixture) event(members string, args ...any) {
	f.seq++
	fmt.Fprintf(f, `{"seq":%d,"at":"%dms",`, f.seq, f.seq)
	fmt.Fprintf(f, members, args...)
	f.WriteString("}\n")
}

func (f *fixture) frame(dir, payload string, args ...any) {
	f.event(`"dir":%q,"frame":%s`, dir, fmt.Sprintf(payload, args...))
}

func (f *fixture) on(stream int, dir, payload string, args ...any) {
	f.event(`"dir":%q,"stream":%d,"frame":%s`, dir, stream, fmt.Sprintf(payload, args...))
}

func (f *fixture) http(stream int, dir, info string) {
	f.event(`"kind":"http","dir":%q,"stream":%d,"data":%s`, dir, stream, info)
}

func (f *fixture) call(n int) {
	f.frame("c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"q":"query %d"},"_meta":{"progressToken":%d}}}`, n, n, n)
}

func (f *fixture) result(n int) {
	f.frame("s2c", `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"result %d"}]}}`, n, n)
}

// batch joins n messages to one.
func batch(n int, message func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = message(i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// shapes are sessions in which one thing is there n times.
var shapes = []struct {
	name  string
	n     int
	write func(f *fixture, n int)
	http  bool
}{
	{"messages in a batch", 8000, func(f *fixture, n int) {
		f.frame("c2s", "%s", batch(n, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"q":"%d"}}}`, i, i)
		}))
		f.frame("s2c", "%s", batch(n, func(i int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%d"}]}}`, i, i)
		}))
	}, false},
	{"open requests", 8000, func(f *fixture, n int) {
		for i := range n {
			f.call(i)
		}
	}, false},
	{"open requests, answered at the end", 8000, func(f *fixture, n int) {
		for i := range n {
			f.call(i)
		}
		for i := range n {
			f.result(i)
		}
	}, false},
	{"open requests, answered backwards", 8000, func(f *fixture, n int) {
		for i := range n {
			f.call(i)
		}
		for i := range n {
			f.result(n - 1 - i)
		}
	}, false},
	{"open requests of one id", 8000, func(f *fixture, n int) {
		for range n {
			f.call(1)
		}
	}, false},
	{"calls with progress", 8000, func(f *fixture, n int) {
		for i := range n {
			f.call(i)
			f.frame("s2c", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, i)
			f.result(i)
		}
	}, false},
	{"cancelled calls, answered late", 8000, func(f *fixture, n int) {
		for i := range n {
			f.call(i)
			f.frame("c2s", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)
		}
		for i := range n {
			f.result(i)
		}
	}, false},
	{"progress of one call", 20000, func(f *fixture, n int) {
		f.call(1)
		for i := range n {
			f.frame("s2c", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i)
		}
		f.result(1)
	}, false},
	{"calls of other names", 8000, func(f *fixture, n int) {
		for i := range n {
			f.frame("c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool%d"}}`, i, i)
			f.result(i)
		}
	}, false},
	{"calls of the server", 8000, func(f *fixture, n int) {
		for i := range n {
			f.frame("s2c", `{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`, i)
		}
	}, false},
	{"findings", 8000, func(f *fixture, n int) {
		for i := range n {
			f.result(i) // to no request
		}
	}, false},
	{"stray output", 8000, func(f *fixture, n int) {
		for i := range n {
			f.event(`"dir":"s2c","text":"loading %d"`, i)
		}
	}, false},
	{"lines of standard error", 8000, func(f *fixture, n int) {
		for i := range n {
			f.event(`"kind":"stderr","text":"loading %d"`, i)
		}
	}, false},
	{"secrets in events", 4000, func(f *fixture, n int) {
		for i := range n {
			f.frame("c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"login","arguments":{"password":"pa55-%08d-w0rd"}}}`, i, i)
			f.result(i)
		}
	}, false},
	{"secrets in a message", 8000, func(f *fixture, n int) {
		f.frame("c2s", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"list":%s}}}`,
			batch(n, func(i int) string { return fmt.Sprintf(`{"password":"pa55-%08d-w0rd"}`, i) }))
		f.result(1)
	}, false},
	{"tools in a list", 8000, func(f *fixture, n int) {
		f.frame("c2s", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		f.frame("s2c", `{"jsonrpc":"2.0","id":1,"result":{"tools":%s}}`,
			batch(n, func(i int) string { return fmt.Sprintf(`{"name":"tool%d","inputSchema":{"type":"object"}}`, i) }))
	}, false},
	{"pages of a list", 4000, func(f *fixture, n int) {
		for i := range n {
			f.frame("c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"cursor":"%d"}}`, i, i)
			f.frame("s2c", `{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}}`, i, i, i+1)
		}
	}, false},
	{"changed lists", 2000, func(f *fixture, n int) {
		for i := range n {
			f.frame("s2c", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			f.frame("c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
			f.frame("s2c", `{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}]}}`, i, i)
		}
	}, false},
	{"subscriptions", 4000, func(f *fixture, n int) {
		for i := range n {
			f.frame("c2s", `{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"file:///%d"}}`, i, i)
			f.frame("s2c", `{"jsonrpc":"2.0","id":%d,"result":{}}`, i)
		}
	}, false},
	{"tasks", 4000, func(f *fixture, n int) {
		for i := range n {
			f.frame("c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"work","task":{}}}`, i)
			f.frame("s2c", `{"jsonrpc":"2.0","id":%d,"result":{"task":{"taskId":"t%d","status":"working"}}}`, i, i)
		}
	}, false},
	{"members of an object", 20000, func(f *fixture, n int) {
		members := batch(n, func(i int) string { return fmt.Sprintf(`"m%d":%d`, i, i) })
		f.frame("c2s", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{%s}}}`, members[1:len(members)-1])
		f.result(1)
	}, false},
	{"deep lists", 4000, func(f *fixture, n int) {
		f.frame("c2s", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":%s}}}`, strings.Repeat("[", n)+strings.Repeat("]", n))
		f.result(1)
	}, false},
	{"a long text", 4_000_000, func(f *fixture, n int) {
		f.frame("c2s", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":%q}}}`, strings.Repeat("some words. ", n/12))
		f.result(1)
	}, false},
	{"exchanges", 4000, func(f *fixture, n int) {
		for i := 1; i <= n; i++ {
			f.http(i, "c2s", `{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s"],"Content-Type":["application/json"]}}`)
			f.on(i, "c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search"}}`, i)
			f.http(i, "s2c", `{"what":"response","status":200,"header":{"Content-Type":["application/json"]}}`)
			f.on(i, "s2c", `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, i)
			f.http(i, "s2c", `{"what":"end"}`)
		}
	}, true},
	{"open streams", 4000, func(f *fixture, n int) {
		for i := 1; i <= n; i++ {
			f.http(i, "c2s", `{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s"],"Content-Type":["application/json"]}}`)
			f.on(i, "c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","_meta":{"progressToken":%d}}}`, i, i)
			f.http(i, "s2c", `{"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`)
		}
		for i := 1; i <= n; i++ {
			f.on(i, "s2c", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`, i)
		}
		for i := 1; i <= n; i++ {
			f.on(i, "s2c", `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, i)
			f.http(i, "s2c", `{"what":"end"}`)
		}
	}, true},
	{"sessions over HTTP", 6000, func(f *fixture, n int) {
		for i := 1; i <= n; i++ {
			f.http(i, "c2s", fmt.Sprintf(`{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s%d"]}}`, i))
			f.on(i, "c2s", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
	}, true},
	{"refused exchanges", 4000, func(f *fixture, n int) {
		for i := 1; i <= n; i++ {
			f.http(i, "c2s", `{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`)
			f.on(i, "c2s", `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
			f.http(i, "s2c", `{"what":"response","status":404,"header":{"Content-Type":["text/plain"]}}`)
			f.http(i, "s2c", `{"what":"end"}`)
		}
	}, true},
	{"headers", 4000, func(f *fixture, n int) {
		headers := batch(n, func(i int) string { return fmt.Sprintf(`"X-%d":["value %d"]`, i, i) })
		f.http(1, "c2s", `{"what":"request","method":"POST","path":"/mcp","header":{`+headers[1:len(headers)-1]+`}}`)
		f.on(1, "c2s", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		f.http(1, "s2c", `{"what":"response","status":200,"header":{"Content-Type":["application/json"]}}`)
		f.on(1, "s2c", `{"jsonrpc":"2.0","id":1,"result":{}}`)
		f.http(1, "s2c", `{"what":"end"}`)
	}, true},
	{"resumed streams", 2000, func(f *fixture, n int) {
		f.http(1, "c2s", `{"what":"request","method":"POST","path":"/mcp","header":{"Mcp-Session-Id":["s"]}}`)
		f.on(1, "c2s", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
		f.http(1, "s2c", `{"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`)
		f.http(1, "s2c", `{"what":"event","sse":{"id":"1"}}`)
		f.http(1, "s2c", `{"what":"end"}`)
		for i := 2; i <= n; i++ {
			f.http(i, "c2s", fmt.Sprintf(`{"what":"request","method":"GET","path":"/mcp","header":{"Mcp-Session-Id":["s"],"Last-Event-Id":["%d"]}}`, i-1))
			f.http(i, "s2c", `{"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}`)
			f.http(i, "s2c", fmt.Sprintf(`{"what":"event","sse":{"id":"%d"}}`, i))
			f.http(i, "s2c", `{"what":"end"}`)
		}
	}, true},
}

// readers are the commands that read a session, with FILE for its file and OUT for a file to write.
var readers = []string{
	"check FILE", "why FILE", "state FILE", "show FILE", "show --format sequence FILE", "show --format json FILE", "show --last 10 FILE", "replay FILE",
	"replay --client blocking-handlers --server blocking-handlers FILE", "replay --need --client answers-inline --server answers-inline FILE", "diff FILE FILE", "state --first messages>10000000||progress(t)>1 FILE",
	"export -o OUT FILE", "export --format otlp -o OUT FILE", "export --format mermaid -o OUT FILE", "export --format har -o OUT FILE",
	"view -o OUT FILE", "redact -o OUT FILE", "ci FILE", "explore --orders 3 FILE", "import FILE",
}

// overStore are the commands that read all sessions of a store.
var overStore = []string{"list", "list --hung", "stats", "stats --by server", "check --all", "why", "redact --scan", "store verify", "store size"}

// most is how many times as much as half of it a thing may cost. What is quadratic costs four times as much.
const most = 2.6

// cost is what a command took.
type cost struct {
	processor time.Duration
	memory    int64 // kilobytes
}

// exceeds reports whether a cost is more than most times another one, and the memory and the time of a process
// that does nothing.
func (c cost) exceeds(half cost) bool {
	const start, program = 50 * time.Millisecond, 8 << 10
	return c.processor > time.Duration(most*float64(half.processor))+start || float64(c.memory) > most*float64(half.memory)+program
}

// costOf returns what a command takes. It may end with any verdict.
func costOf(t *testing.T, command, home, file string) cost {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	args := strings.Fields(command)
	for i, arg := range args {
		args[i] = strings.NewReplacer("FILE", file, "OUT", out).Replace(arg)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // what takes so long is not told otherwise
	defer cancel()
	cmd := exec.CommandContext(ctx, "mcprec", args...)
	cmd.Env = append(os.Environ(), "MCPREC_HOME="+home, "GOMAXPROCS=1")
	said, _ := cmd.CombinedOutput()
	if ctx.Err() != nil || cmd.ProcessState.ExitCode() > 2 {
		t.Fatalf("%s: %v: %.300s", command, cmd.ProcessState, said)
	}
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss}
}

// doubles measures a command at a size and at twice the size. Where the larger one costs too much, it tries again:
// a machine that is busy may have been the reason.
func doubles(t *testing.T, what, command string, measure func(twice int) cost) {
	t.Helper()
	var half, whole cost
	for range 10 { // beside other work a run may cost half as much again: the least of them counts
		for i, c := range []*cost{&half, &whole} {
			now := measure(i)
			if c.processor == 0 || now.processor < c.processor {
				c.processor = now.processor
			}
			if c.memory == 0 || now.memory < c.memory {
				c.memory = now.memory
			}
		}
		if !whole.exceeds(half) {
			break
		}
	}
	t.Logf("%-34s %-46s %6.2f s %6.2f s %5.2f %5d MB %5d MB %5.2f", what, command, half.processor.Seconds(), whole.processor.Seconds(),
		float64(whole.processor)/float64(half.processor), half.memory>>10, whole.memory>>10, float64(whole.memory)/float64(half.memory))
	if whole.exceeds(half) {
		t.Errorf("%s, %s: twice as much costs more than %v times as much", what, command, most)
	}
}

// TestDoubling: twice as much of anything costs a command at most 2.6 times as much time and memory.
func TestDoubling(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			written := func(n int) (files [2]string) {
				for i := range files {
					f := newFixture(map[bool]string{true: "http", false: "stdio"}[shape.http])
					shape.write(f, n<<i)
					files[i] = filepath.Join(t.TempDir(), "session.jsonl")
					if err := os.WriteFile(files[i], []byte(f.String()), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				return files
			}
			files, few := written(shape.n), written(shape.n/8)
			for _, command := range readers {
				files := files
				if strings.HasPrefix(command, "view ") { // it plays the session hundreds of times
					files = few
				}
				doubles(t, shape.name, command, func(twice int) cost { return costOf(t, command, t.TempDir(), files[twice]) })
			}
		})
	}
	t.Run("sessions in a store", func(t *testing.T) {
		var homes [2]string
		for i := range homes {
			homes[i] = t.TempDir()
			fillStore(t, homes[i], 2000<<i)
		}
		for _, command := range overStore {
			doubles(t, "sessions in a store", command, func(twice int) cost { return costOf(t, command, homes[twice], "") })
		}
	})
}

// fillStore fills a store with sessions of a call each.
func fillStore(t *testing.T, home string, sessions int) {
	t.Helper()
	db, err := boltstore.Open(home, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sessions {
		f := newFixture("stdio")
		f.call(1)
		f.result(1)
		text := strings.Replace(f.String(), "01900000-0000-7000-8000-000000000000", fmt.Sprintf("01900000-0000-7000-8000-%012x", i), 1)
		if _, err := session.Save(t.Context(), db, jsonl.Decode(strings.NewReader(text))); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
