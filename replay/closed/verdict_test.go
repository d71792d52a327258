package closed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

const capacities = "0 1 10 1000 unbounded"

// TestSeed: python-sdk issue 594. The hang is the same at every transport
// capacity; only the place of the awaited response differs.
func TestSeed(t *testing.T) {
	r := load(t, seed)
	var cycle []string
	for capacity := range strings.FieldsSeq(capacities) {
		v := Replay(r, setup(t, "notification-queue=0 independent "+capacity))
		if v.Verdict != Hang || !v.Proved || v.Category != BehindNotification {
			t.Fatalf("buffer %s: %s %s", capacity, v.Verdict, v.Category)
		}
		if cycle == nil {
			cycle = v.Cycle
		}
		if !slices.Equal(cycle, v.Cycle) {
			t.Errorf("buffer %s: cycle %q, at 0 it was %q", capacity, v.Cycle, cycle)
		}
		where := "queued in s2c"
		if capacity == "0" {
			where = "the server is blocked writing it"
		}
		text := v.Text()
		for _, want := range []string{
			"blocked behind a notification",
			"the client's reader waits to hand progress notification #6 to a queue of 0 that nobody reads from during a call",
			"the awaited response #7 is behind it (" + where + ")",
			"no buffer of the transport hides it (tried 0, 1, 10, 1000, unbounded)",
			"a notification queue of 1 passes",
			"a client without a notification queue (independent) passes with buffer 0",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("buffer %s: the report does not say %q:\n%s", capacity, want, text)
			}
		}
		for _, client := range []string{"notification-queue=1", "notification-queue=2", "independent", "single-threaded", "answers-inline"} {
			if v := Replay(r, setup(t, client+" independent "+capacity)); v.Verdict != Pass {
				t.Errorf("client %s, buffer %s: %s", client, capacity, v.Text())
			}
		}
	}
}

func TestLoadNoDirection(t *testing.T) {
	_, err := Load(replaytest.SequenceOf([]store.Event{{Seq: 4, Kind: store.Frame}}))
	if err == nil || !strings.Contains(err.Error(), "event 4: no direction") {
		t.Errorf("%v", err)
	}
}

// TestNotificationDebt: a receive loop with an inner queue of Q hangs if and only
// if more than Q notifications come before the awaited response, at any capacity.
func TestNotificationDebt(t *testing.T) {
	for n := range 6 {
		r := load(t, "> 1:call!\n"+strings.Repeat("< ~progress\n", n)+"< 1=")
		for q := range 6 {
			for _, capacity := range []Room{0, 1, 10} {
				s := Setup{Capacity: Capacity{capacity, capacity}, Client: NotificationQueue(q)}
				v := Replay(r, s)
				if (v.Verdict == Hang) != (n > q) {
					t.Errorf("%d notifications, queue %d, buffer %v: %s", n, q, capacity, v.Verdict)
				}
				if want := fmt.Sprintf("a notification queue of %d passes", n); v.Verdict == Hang && !strings.Contains(v.Text(), want) {
					t.Errorf("%d notifications, queue %d: the report does not say %q", n, q, want)
				}
			}
		}
	}
}

func TestClosed(t *testing.T) {
	for _, tt := range []struct{ name, lines, setup, want string }{
		{"nothing", "", "single-threaded single-threaded 0", "pass"},
		{"one way", "> ~a\n> ~b", "single-threaded single-threaded 0", "pass"},
		{"plain, rigid", replaytest.Plain, "single-threaded single-threaded 0", "pass"},
		{"plain, inline", replaytest.Plain, "answers-inline answers-inline 0", "pass"},
		{"plain, free", replaytest.Plain, "independent independent 0", "pass"},
		{"crossing, rigid", crossing, "single-threaded single-threaded 0", "hang both sides write and neither reads"},
		{"crossing, rigid, c2s", crossing, "single-threaded single-threaded c2s=1,s2c=0", "pass"},
		{"crossing, rigid, s2c", crossing, "single-threaded single-threaded c2s=0,s2c=1", "pass"},
		{"crossing, one rigid", crossing, "single-threaded independent 0", "pass"},
		{"crossing, inline", crossing, "answers-inline answers-inline 0", "hang both sides write and neither reads"},
		{"crossing, inline, c2s", crossing, "answers-inline answers-inline c2s=1,s2c=0", "pass"},
		{"crossing, inline, s2c", crossing, "answers-inline answers-inline c2s=0,s2c=1", "pass"},
		{"crossing, one inline", crossing, "answers-inline independent 0", "pass"},
		{"inline: answers out of order show that the server read on", "> 1:a\n> 2:b\n< 2=\n< 1=", "single-threaded answers-inline 0", "pass"},
		{"flood", flood, "single-threaded single-threaded 0", "hang both sides write and neither reads"},
		{"flood, less than the flood", flood, "single-threaded single-threaded 2", "hang both sides write and neither reads"},
		{"flood, room for it one way", flood, "single-threaded single-threaded c2s=3,s2c=0", "pass"},
		{"flood, free", flood, "independent independent 0", "pass"},
		{"delivered settles the order", "> 1:call\n> @2\n< 1:roots/list\n> 1=\n< 1=", "single-threaded single-threaded 0", "pass"},
		{"stray output", "< Server starting\n> 1:call\n< \n< 1=", "answers-inline notification-queue=0 0", "pass"},
		{"unanswered", "> 1:call\n< 1:roots/list", "answers-inline answers-inline 0", "pass"},
		{"orphan", "> 1:call\n< 9=\n< 1=", "single-threaded single-threaded 0", "pass"},
		{"id used again", "> 1:a\n< 1=\n> 1:b\n< 1=", "single-threaded single-threaded 0", "pass"},
		{"id used again while open", "> 1:a\n> 1:b\n< 1=\n< 1=", "answers-inline answers-inline 0", "pass"},
		{"batch", "> [1:a 2:b ~c]\n< [1= 2=]", "single-threaded answers-inline 0", "pass"},
		{"batch, the answer behind the notification", "> 1:a\n< [~progress 1=]", "notification-queue=0 independent 0", "hang blocked behind a notification"},
		{"batch, the answer before the notification", "> 1:a\n< [1= ~progress]\n> 2:b\n< 2=", "notification-queue=0 independent 0", "pass"},
		{"inbox: no call in flight", "< ~a\n< ~a\n> 1:a\n< 1=\n< ~a", "notification-queue=0 independent 0", "pass"},
		{"inbox: two calls", "> 1:a\n> 2:b\n< 1=\n< ~a\n< 2=", "notification-queue=0 independent 0", "hang blocked behind a notification"},
		{"inbox: peer's requests are not queued", "> 1:a\n< 1:ping\n> 1=\n< 1=", "notification-queue=0 independent 0", "pass"},
		{"inbox: cancelled", "> 1:a\n< ~progress\n> ~cancelled:1\n> 2:b\n< 2=", "notification-queue=0 independent 0", "pass"},
		{"inbox: cancelled behind a second", "> 1:a\n< ~progress\n< ~progress\n> ~cancelled:1\n> 2:b\n< 2=", "notification-queue=0 independent 0", "hang blocked behind a notification"},
		{"inbox: cancelled, late answer", "> 1:a\n< ~progress\n> ~cancelled:1\n< 1=\n< ~a", "notification-queue=0 independent 0", "pass"},
		{"inbox: no answer, last notification held", "> 1:a\n< ~progress", "notification-queue=0 independent 0", "pass"},
		{"inbox: no answer", "> 1:a\n< ~progress\n< ~progress", "notification-queue=0 independent 0", "hang never sent"},
		{"inbox: an open listen is no call", "> 1:subscriptions/listen\n< ~a\n< ~a", "notification-queue=0 independent 0", "pass"},
		{"inbox of the server", "< 1:roots/list\n> ~progress\n> 1=", "independent notification-queue=0 unbounded", "hang blocked behind a notification"},
		{"inbox at both sides", "> 1:a\n< 1:b\n< ~n\n> ~n\n> 1=\n< 1=", "notification-queue=0 notification-queue=0 10", "hang blocked behind a notification"},
		{"blocking-handlers", replaytest.Plain, "blocking-handlers blocking-handlers 0", "pass"},
		{"serial: works between two requests", "> 1:a\n> ~n\n< ~progress\n> 2:b\n< 1=\n< 2=", "independent blocking-handlers 0", "pass"},
		{"serial: a handler asks", "> 1:a\n< 1:roots/list\n> 1=\n< 1=", "independent blocking-handlers unbounded", "hang blocked behind a request"},
		{"serial: a handler asks and does not wait", "> 1:a\n< 1:roots/list\n< 1=\n> 1=", "independent blocking-handlers 0", "pass"},
		{"serial: the session pings", "> 1:a\n< 1:ping\n> 1=\n< 1=", "independent blocking-handlers 0", "pass"},
		{"serial: a client's calls are its application's", "< 1:ping\n> 1:a\n< 1=\n> 1=", "blocking-handlers independent 0", "pass"},
		{"serial: nothing is open", "> 1:a\n< 1=\n< 1:roots/list\n> 1=\n> 2:b\n< 2=", "independent blocking-handlers 0", "pass"},
		{"serial: answers out of order show that it read on", "> 1:a\n> 2:b\n< 2=\n< 1=", "independent blocking-handlers 0", "pass"},
		{"serial: no answer, nothing behind", "> 1:a\n< ~progress", "independent blocking-handlers 0", "pass"},
		{"serial: no answer, a request behind", "> 1:a\n> 2:b", "independent blocking-handlers unbounded", "hang never sent"},
		{"serial: a cancellation is not taken", "> 1:a\n> ~cancelled:1", "independent blocking-handlers 0", "hang never sent"},
		{"serial: a cancellation is not read", "> 1:a\n> ~cancelled:1", "independent blocking-handlers c2s=1,s2c=0", "pass"},
		{"serial: a late answer", "> 1:a\n> ~cancelled:1\n< 1=", "independent blocking-handlers 0", "pass"},
		{"serial: listen", "> 1:subscriptions/listen\n< ~a\n> 2:b\n< 2=", "independent blocking-handlers unbounded", "hang never sent"},
		{"serial: listen, cancelled", "> 1:subscriptions/listen\n> 2:b\n< 2=\n> ~cancelled:1", "independent blocking-handlers unbounded", "hang blocked behind a request"},
		{"serial: list_changed, and the handler lists", "< ~tools/list_changed\n> 1:tools/list\n< 1=", "blocking-handlers independent unbounded", "hang blocked behind a notification"},
		{"serial: list_changed, and another call", "< ~tools/list_changed\n> 1:call\n< 1=\n> 2:tools/list\n< 2=", "blocking-handlers independent 0", "pass"},
		{"serial: the server asks before it lists", "< ~tools/list_changed\n> 1:tools/list\n< 1:ping\n> 1=\n< 1=", "blocking-handlers independent unbounded", "hang blocked behind a notification"},
		{"serial: each asks the other", "< ~tools/list_changed\n> 1:tools/list\n< 1:ping", "blocking-handlers blocking-handlers 0", "hang each waits for the other's answer"},
		{"serial: one asks", "< ~tools/list_changed\n> 1:tools/list\n< 1:ping", "blocking-handlers independent unbounded", "hang never sent"},
		{"serial, crossing", "> 1:a\n< 1:b\n< 1=\n> 1=", "blocking-handlers blocking-handlers 0", "hang both sides write and neither reads"},
		{"inbox, rigid server", seed, "notification-queue=0 single-threaded 10", "hang blocked behind a notification"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Replay(load(t, tt.lines), setup(t, tt.setup))
			if got := strings.TrimSpace(v.Verdict + " " + v.Category); got != tt.want {
				t.Errorf("%s, want %s\n%s", got, tt.want, v.Text())
			}
		})
	}
}

// TestReports pins what a reader sees.
func TestReports(t *testing.T) {
	for name, tt := range map[string]struct{ lines, setup string }{
		"seed-0":            {seed, "notification-queue=0 independent 0"},
		"seed-10":           {seed, "notification-queue=0 independent 10"},
		"seed-three":        {"> 1:call!\n< ~progress\n< ~progress\n< ~progress\n< 1=", "notification-queue=1 independent 0"},
		"seed-batch":        {"> 1:call!\n< [~progress 1=]", "notification-queue=0 independent 1"},
		"seed-cancelled":    {"> 1:call!\n< ~progress\n< ~progress\n> ~cancelled:1", "notification-queue=0 independent 1"},
		"seed-free":         {seed, "independent independent 0"},
		"never-sent":        {"> 1:call!\n< ~progress\n< ~message\n< ~message", "notification-queue=0 independent 1"},
		"both-swallow":      {"> 1:a\n< 1:b\n< ~n\n> ~n\n> 1=\n< 1=", "notification-queue=0 notification-queue=0 10"},
		"sampling":          {"> 1:call!\n< ~progress\n< 7:sampling/createMessage\n> 7=\n< 1=", "notification-queue=0 independent 1"},
		"crossing-rigid":    {crossing, "single-threaded single-threaded 0"},
		"crossing-inline":   {crossing, "answers-inline answers-inline 0"},
		"blocking-handlers": {"> 1:call\n< 1:roots/list\n> 1=\n< 1=", "independent blocking-handlers 1"},
		"serial-listen":     {"> 1:subscriptions/listen\n< ~message\n> 2:tools/list\n< 2=\n> ~cancelled:1", "independent blocking-handlers 1"},
		"serial-never":      {"> 1:call\n> ~cancelled:1", "independent blocking-handlers 0"},
		"mutual-call":       {"< ~tools/list_changed\n> 1:tools/list\n< 1:ping", "blocking-handlers blocking-handlers 1"},
		"flood":             {strings.Repeat(replaytest.Plain+"\n", 2) + "\n" + flood, "single-threaded single-threaded 1"},
		"warnings":          {"> 1:call!\n< 5:roots/list", "independent single-threaded 1"},
	} {
		t.Run(name, func(t *testing.T) {
			replaytest.Golden(t, name+".txt", Replay(load(t, tt.lines), setup(t, tt.setup)).Text())
		})
	}
}

func TestVerdictJSON(t *testing.T) {
	v := Replay(load(t, seed), setup(t, "notification-queue=0 independent c2s=1,s2c=unbounded"))
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	replaytest.Golden(t, "seed.json", string(b)+"\n")
	var back Verdict
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.Capacity != v.Capacity || back.Models != v.Models {
		t.Errorf("read back %v %v", back.Capacity, back.Models)
	}
	b, _ = json.Marshal(Replay(load(t, ""), Setup{}))
	if strings.Contains(string(b), "null") {
		t.Errorf("a list is null: %s", b)
	}
}

// TestRigidOrder pins what rigid makes of a recording: S sends, R reads a frame.
func TestRigidOrder(t *testing.T) {
	for _, tt := range []struct{ name, lines, client, server string }{
		{"crossing", crossing, "S2 R3 S4 R5", "S3 R2 R4 S5"},
		{"handshake, call with progress", seed, "S2 R3 S4 S5 R6 R7", "R2 S3 R4 R5 S6 S7"},
		{"an answer waits for all before it", "> 1:a\n> ~n\n< 1=", "S2 S3 R4", "R2 R3 S4"},
		{"a notification in a call is caused by it", "> 1:a\n< ~n\n> ~m\n< ~n\n< 1=", "S2 S4 R3 R5 R6", "R2 S3 R4 S5 S6"},
		{"a request in a call is not", "> 1:a\n< ~n\n< 1:b\n> 1=\n< 1=", "S2 R3 R4 S5 R6", "R2 S3 S4 R5 S6"},
		{"notifications outside calls cross", "> ~a\n< ~b\n> ~a", "S2 S4 R3", "S3 R2 R4"},
		{"delivered", "> ~a\n> @2\n< ~b\n> ~a", "S2 S5 R4", "R2 S4 R5"},
		{"delivered late stands there, exactly", "> 1:a\n< ~b\n> ~c\n< ~d\n> @4\n< 1=", "S2 S4 R3 R5 R7", "R2 S3 S5 R4 S7"},
		{"server initiates after initialized", "> 1:initialize\n< 1=\n> ~initialized\n< 1:roots/list\n> 1=", "S2 R3 S4 R5 S6", "R2 S3 R4 S5 R6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := load(t, tt.lines)
			for dir, want := range map[transport.Direction]string{transport.ClientToServer: tt.client, transport.ServerToClient: tt.server} {
				if got := localOrder(r, newScript(r, dir, SingleThreaded, nil)); got != want {
					t.Errorf("%s: %s, want %s", dir.Sender(), got, want)
				}
			}
		})
	}
}

// localOrder lists a rigid script's sends and reads in order.
func localOrder(r *Recording, s *script) string {
	var order []string
	k := 0
	for j := range s.hold {
		for ; k < int(s.hold[j]); k++ {
			order = append(order, fmt.Sprintf("S%d", r.frames[r.nth(s.own, k+1)].seq))
		}
		if j < len(s.hold)-1 {
			order = append(order, fmt.Sprintf("R%d", r.frames[r.nth(s.own.Reverse(), j+1)].seq))
		}
	}
	return strings.Join(order, " ")
}

// TestGoesOn: a call of a live session waits until now, also long after the last event. A clock
// that is behind the last event changes nothing.
func TestGoesOn(t *testing.T) {
	for _, test := range []struct {
		now  time.Duration
		want string
	}{{0, "1ms"}, {time.Millisecond, "1ms"}, {90 * time.Second, "1m30s"}} {
		r := load(t, "> 1:tools/call!\n< ~progress")
		r.GoesOn(test.now)
		v := Replay(r, Setup{})
		if len(v.Unanswered) != 1 || v.Unanswered[0].Waited != test.want {
			t.Errorf("at %v: %+v, want one call that waited %s", test.now, v.Unanswered, test.want)
		}
	}
}
