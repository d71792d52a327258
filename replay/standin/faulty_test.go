package standin

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/fault"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// TestServeFaults holds what a client reads, and when, from a session that is served with faults;
// a session that a fault cuts ends by itself.
func TestServeFaults(t *testing.T) {
	const recorded = `
	> {"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}
	< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
	< {"id":1,"result":"a"}
	> {"id":2,"method":"tools/call","params":{"name":"b"}}
	< {"id":2,"result":"b"}`
	one := map[time.Duration]string{
		0:           `{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}`,
		time.Second: `{"id":2,"method":"tools/call","params":{"name":"b"}}`,
	}
	for _, row := range []struct {
		name string
		rule string
		end  time.Duration // of the client
		want string
		told string
	}{
		{"others pass a call that waits", "tool:a delay 5s", time.Minute, `
			1s {"id":2,"result":"b"}
			5s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			5s {"id":1,"result":"a"}`, "delay 5s"},
		{"the end of the client ends no wait", "tool:a kind:response delay 5s", 2 * time.Second, `
			0s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			1s {"id":2,"result":"b"}
			5s {"id":1,"result":"a"}`, "delay 5s"},
		{"an answer lets the next message go first", "tool:a kind:response reorder 10s", time.Minute, `
			0s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			1s {"id":2,"result":"b"}
			1s {"id":1,"result":"a"}`, "reorder"},
		{"and goes alone when none comes", "tool:a kind:response reorder 500ms", time.Minute, `
			0s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			500ms {"id":1,"result":"a"}
			1s {"id":2,"result":"b"}`, "reorder"},
		{"what waits for another message goes at the end", "tool:b reorder 1h", 2 * time.Second, `
			0s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			0s {"id":1,"result":"a"}
			2s {"id":2,"result":"b"}`, "reorder"},
		{"a half is unterminated, and the last", "tool:a kind:response half-message", time.Minute, `
			0s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}
			0s {"id":1,"r unterminated`, "half-message"},
		{"a cut", "tool:a kind:response disconnect", time.Minute, `
			0s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, "disconnect"},
		{"silence is no end", "tool:a kind:response silent", time.Minute, `
			0s {"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, "silent"},
	} {
		rule, err := fault.Parse(row.rule)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		told := ""
		synctest.Test(t, func(t *testing.T) {
			conn, far := newWire()
			options := ServeOptions{
				Faults: fault.New([]fault.Rule{rule}, 1),
				Told:   func(text string) { told += text },
			}
			done := make(chan error, 1)
			start := time.Now()
			go func() {
				done <- Serve(t.Context(), far, NewPlayer(recordPlaybook(recorded), match.Rules{}), options)
				close(far.out)
			}()
			over := make(chan struct{})
			go func() {
				for _, at := range slices.Sorted(maps.Keys(one)) {
					select {
					case <-time.After(time.Until(start.Add(at))):
						conn.out <- transport.Frame{Bytes: []byte(one[at])}
					case <-over:
						return
					}
				}
				select {
				case <-time.After(time.Until(start.Add(row.end))):
					conn.end()
				case <-over:
				}
			}()
			for {
				f, err := conn.Read(t.Context())
				if err != nil {
					break
				}
				b.WriteString(time.Since(start).String() + " " + string(f.Bytes))
				if f.Unterminated {
					b.WriteString(" unterminated")
				}
				b.WriteByte('\n')
			}
			close(over)
			if err := <-done; err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
		})
		want := strings.TrimPrefix(strings.ReplaceAll(row.want, "\t", ""), "\n") + "\n"
		if got := b.String(); got != want {
			t.Errorf("%s: got\n%swant\n%s", row.name, got, want)
		}
		if !strings.HasPrefix(told, "fault: "+row.told+": ") {
			t.Errorf("%s: told %q", row.name, told)
		}
	}
}
