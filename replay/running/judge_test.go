package running

import (
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport/procfs"
)

// sleeping is a side whose threads all sleep, and that last ran so long ago.
func sleeping(activity procfs.Activity, ours bool, ran time.Duration) Standing {
	return Standing{
		Process: procfs.Process{PID: 11, Name: "node", State: procfs.Sleeping}, IsKnown: true, Ran: ran,
		Look: procfs.Look{Activity: activity, Ours: ours, Threads: 4, Timer: 3 * time.Second},
	}
}

// Who must move follows from two looks, and what moves or may still be woken is not called stuck.
func TestJudge(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"key":"hunter2"}}}` + "\n"
	waits := procfs.Unread{Size: len(request), Begin: []byte(request)}
	full := procfs.Unread{Size: 60 << 10, Begin: []byte(request), Room: 64 << 10}
	idle := Sight{Server: sleeping(procfs.Asleep, true, time.Minute), Client: sleeping(procfs.Outside, true, time.Minute)}
	with := func(change func(*Sight)) Sight {
		s := idle
		change(&s)
		return s
	}
	client := Party{PID: 10, Name: "claude"}
	open := Held{Open: []HeldCall{{ID: "7", Method: "tools/call", Name: "search", Shape: why.NoAnswer, Culprit: "server"}}}
	for name, test := range map[string]struct {
		sight, second Sight // the second look; the first if it is nil
		held          Held
		orphan        string
		shape         string // "": nothing is stuck
		culprit       string
		verdict       string
		says          string
	}{
		"idle": {sight: idle, says: "nobody but the client can wake them"},
		"the server does not read": {sight: with(func(s *Sight) { s.ToServer = waits }), shape: why.ServerNotReading, culprit: "server", verdict: "stuck",
			says: `request tools/call "search" id 7`},
		"it reads meanwhile": {sight: with(func(s *Sight) { s.ToServer = waits }), second: with(func(s *Sight) {
			s.ToServer = procfs.Unread{Size: 300, Begin: []byte("another")}
		})},
		"it works": {sight: with(func(s *Sight) { s.ToServer = waits; s.Server = sleeping(procfs.Busy, false, 0) })},
		"it waits for the network": {sight: with(func(s *Sight) {
			s.ToServer = waits
			s.Server = sleeping(procfs.Outside, false, time.Minute)
			s.Server.Wakers = []string{"a connection to 192.0.2.7:443"}
		}), says: "192.0.2.7:443"},
		"its timer is near": {sight: with(func(s *Sight) { s.ToServer = waits; s.Server = sleeping(procfs.Timed, false, time.Minute) }), says: "timer is in 3s"},
		"the client does not read": {sight: with(func(s *Sight) { s.ToClient = waits }), shape: why.ClientNotReading, culprit: "client", verdict: "stuck",
			says: "The client claude (10) does not read"},
		"the client does not read, and runs": {sight: with(func(s *Sight) { s.ToClient = waits; s.Client = sleeping(procfs.Busy, false, 0) }),
			shape: why.ClientNotReading, culprit: "client", verdict: "may be stuck"},
		"neither reads":  {sight: with(func(s *Sight) { s.ToServer, s.ToClient, s.writing = full, full, "output" }), shape: why.NeitherReads, culprit: "both", verdict: "stuck"},
		"standard error": {sight: with(func(s *Sight) { s.writing = "standard error" }), shape: why.StderrNotRead, culprit: "client", verdict: "stuck"},
		"stopped":        {sight: with(func(s *Sight) { s.Server.State = procfs.Stopped }), shape: why.ServerStopped, culprit: "server", verdict: "stuck", says: "SIGCONT"},
		"a lock": {sight: with(func(s *Sight) { s.Server = sleeping(procfs.Asleep, false, time.Minute) }), shape: why.NoAnswer, culprit: "server", verdict: "stuck",
			says: "all 4 threads sleep"},
		"an orphan":                    {sight: idle, orphan: "nobody holds the other end of its input", shape: why.NotEnding, culprit: "server", verdict: "an orphan", says: "nobody holds"},
		"a call is open":               {sight: idle, held: open, shape: why.NoAnswer, culprit: "server", verdict: "may be stuck", says: `tools/call "search" (id 7)`},
		"a call is open, and it works": {sight: with(func(s *Sight) { s.Server = sleeping(procfs.Busy, false, 0) }), held: open},
		"a person is asked":            {sight: idle, held: Held{Open: append([]HeldCall{{Method: "elicitation/create", Shape: why.AsksClient, AsksPerson: true}}, open.Open...)}},
		"the client is asked during a call": {sight: idle, held: Held{Open: append(open.Open, HeldCall{ID: "0", Method: "roots/list", ByServer: true, Shape: why.AsksClient, Culprit: "client"})},
			shape: why.AsksClient, culprit: "client", verdict: "may be stuck"},
		"it has ended": {sight: with(func(s *Sight) { s.IsGone = true; s.ToServer = waits }), says: "has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			i := Instance{PID: 11, Client: client, Orphan: test.orphan, Started: []int{11}}
			if test.orphan != "" {
				i.Client = Party{}
			}
			second := test.second
			if second.Server.State == "" {
				second = test.sight
			}
			a := Judge(i, test.sight, second, test.held, func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") })
			text := strings.Join(a.Facts, " ")
			shape, culprit := "", ""
			if len(a.Findings) > 0 {
				f := a.Findings[0]
				shape, culprit = f.Shape, f.Culprit
				text += f.Text + f.Proves
				for _, e := range f.Evidence {
					text += e.Text
				}
			}
			if shape != test.shape || culprit != test.culprit || test.verdict != "" && a.Verdict != test.verdict || !strings.Contains(text, test.says) || strings.Contains(text, "hunter2") {
				t.Errorf("%s, %s, %s: %s", shape, culprit, a.Verdict, text)
			}
		})
	}
}
