package external

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// TestToken holds that a schedule comes back from its token.
func TestToken(t *testing.T) {
	for _, s := range []Schedule{
		nil,
		{{Kind: Join, First: 5, Last: 6}},
		{{Kind: Split, First: 7, Last: 7, At: 20}, {Kind: Cancel, First: 7, Last: 7}, {Kind: LateCancel, First: 8, Last: 8}, {Kind: End, First: 9, Last: 9}},
		{{Kind: Unread, First: 2, Last: 9}, {Kind: Hold, First: 3, Last: 4}, {Kind: Reverse, First: 3, Last: 3}, {Kind: Ahead, First: 4, Last: 4}},
		{{Kind: Order, First: 5, Last: 7, Frames: []uint64{7, 5, 6}}},
		{{Kind: Term, First: 5, Last: 5}, {Kind: Gone, First: 7, Last: 7}},
	} {
		got, err := ParseToken(s.Token())
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s: %+v, %v; want %+v", s.Token(), got, err, s)
		}
	}
	for _, bad := range []string{"", "x1", "x2.join1-2", "x1.", "x1.join5", "x1.jump5", "x1.join5-6-7", "x1.split5", "x1.order", "x1.end99999999999999999999", "x1.join-", "x1.default.end4"} {
		if s, err := ParseToken(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, s)
		} else if bad != "" && !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v does not name it", bad, err)
		}
	}
}

// FuzzToken holds that a token that is read is written as it stood, or in one normal form.
func FuzzToken(f *testing.F) {
	for _, seed := range []string{"x1.default", "x1.join5-6.end9", "x1.split7@20", "x1.order7-5-6", "x1.poll7@2.drop9", "x1.forget7.form7.nostream3.endalone5.break7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseToken(text)
		if err != nil {
			return
		}
		again, err := ParseToken(s.Token())
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%q: %+v, and then %+v (%v)", text, s, again, err)
		}
	})
}

// TestList holds that every choice is tried alone before two are tried together, and that these are mostly about
// the same frames.
func TestList(t *testing.T) {
	frames := []frame{
		{seq: 2, isRequest: true, isHello: true, split: 4, beside: []uint64{2}},
		{seq: 4, split: 4, beside: []uint64{4, 5, 7}, questions: 1},
		{seq: 5, isRequest: true, what: "a", split: 4, beside: []uint64{5, 7}},
		{seq: 7, isRequest: true, what: "b", split: 4, beside: []uint64{7}},
	}
	got := list(serverPeer{}.choices(frames), 90, rand.New(rand.NewPCG(1, 1)))
	alone, beside := 0, 0
	tokens := map[string]bool{}
	for i, s := range got {
		if !slices.IsSortedFunc(s, func(a, b Choice) int { return cmp.Compare(a.First, b.First) }) || tokens[s.Token()] {
			t.Errorf("%s is not sorted, or stands twice", s.Token())
		}
		tokens[s.Token()] = true
		if len(s) > 1 && slices.ContainsFunc(s[1:], func(c Choice) bool { return c.First <= s[0].Last }) { // they are sorted
			beside++
		}
		if len(s) == 1 {
			alone++
			if i != alone-1 {
				t.Errorf("%s comes behind an order of several choices", s.Token())
			}
		}
		for _, c := range s {
			if c.First == 2 && (c.Kind == Cancel || c.Kind == LateCancel) {
				t.Errorf("%s cancels initialize", s.Token())
			}
		}
	}
	if beside <= (len(got)-alone)/2 {
		t.Errorf("%d of %d orders with several choices have two about the same messages", beside, len(got)-alone)
	}
	// Two pairs, a triple, four ends, two at rest, four cancellations, one of the first of two, one end behind two, two in the other order, four splits, one hold, one call while
	// the client is busy, one under its question's id, one question declined, two unread, two SIGTERMs, two closed outputs, two cancellations that crossed the answer.
	if alone != 32 || len(got) != 90 {
		t.Errorf("%d of %d orders have one choice", alone, len(got))
	}
}

// TestListBackwards: a choice about an earlier frame than its own is tried beside others, too.
func TestListBackwards(t *testing.T) {
	got := list([][]Schedule{{{{Kind: Meet, First: 7, Last: 5}}}, {{{Kind: End, First: 9, Last: 9}}}}, 5, rand.New(rand.NewPCG(1, 1)))
	if len(got) != 3 || got[2].Token() != "x1.meet7-5.end9" {
		t.Errorf("%v", got)
	}
}

// TestUsual: a search plays each choice by itself, within bounds.
func TestUsual(t *testing.T) {
	for alone, want := range map[int]int{0: 100, 99: 100, 150: 151, 400: 250} {
		if got := usual([][]Schedule{make([]Schedule, alone/2), make([]Schedule, alone-alone/2)}); got != want {
			t.Errorf("of %d choices %d schedules, want %d", alone, got, want)
		}
	}
}

// TestSplitOf holds that a frame is split inside a character, if it has one of several bytes, and near its middle.
func TestSplitOf(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 0, "ab": 1, "abcde": 2, "éabcdefgh": 1, "abcdefghé": 9, "ab€cd": 3, "aéé": 2} {
		if got := splitOf([]byte(text)); got != want {
			t.Errorf("%q is split at byte %d, want %d", text, got, want)
		}
	}
}

// tellingRoots is a session of a client that was asked for its roots, and tells of their changes.
func tellingRoots() []store.Event {
	events, say := newSession()
	say(transport.ClientToServer, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"roots":{"listChanged":true}}}}`)
	say(transport.ServerToClient, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	say(transport.ClientToServer, `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)
	return *events
}

// twoCalls has three calls, of which two are the same.
func twoCalls() []store.Event {
	events := make([]store.Event, 4)
	for i, a := range []int{1, 1, 2} {
		events = append(events, store.Event{Seq: uint64(i + 5), Kind: store.Frame, Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","arguments":{"a":%d}}}`, i, a)})
	}
	return events
}

// TestChoices: which choices a frame has, for each thing that is said of it, and that it has no others.
func TestChoices(t *testing.T) {
	client, stdio, web := clientPeer{}, serverPeer{}, serverPeer{Server: Server{URL: "http://x"}}
	hello := frame{seq: 1, isHello: true, isRequest: true}
	for _, test := range []struct {
		name   string
		peer   interface{ choices([]frame) [][]Schedule }
		frames []frame
		want   string
	}{
		{"of the server, of one byte", client, []frame{{seq: 4}}, "close4"},
		{"of the server, of two", client, []frame{{seq: 4, split: 1}}, "close4 split4@1"},
		{"a notification", client, []frame{{seq: 4, isNotice: true}}, "close4 repeat4@100"},
		{"one that may go out before", client, []frame{{seq: 4, isAhead: true}}, "close4 early4"},
		{"one in whose place others could happen", client, []frame{{seq: 4, isAmong: true}}, "close4 late4 behind4"},
		{"an answer in whose place others could happen", client, []frame{{seq: 4, isAmong: true, isAnswer: true}}, "close4 end4 late4"},
		{"an answer that may come with what is in front of it", client, []frame{{seq: 4, beside: []uint64{4, 5}}, {seq: 5, isAnswer: true}}, "join4-5 close4 close5 join4-5.end5 end5 unread4-5"},
		{"two answers, and one to the same as the first", client, []frame{{seq: 4, isAnswer: true, what: "a"}, {seq: 5, isAnswer: true, what: "a"}, {seq: 6, isAnswer: true, what: "b"}},
			"close4 close5 close6 end6 end5 end4 overdue4 unread4-6 unread5-6"},
		{"one that comes when a call is cancelled", client, []frame{{seq: 4}, {seq: 5, hasCalledOff: true}, {seq: 6, hasCalledOff: true}, {seq: 7, hasCalledOff: true}}, "close4 close5 close6 close7 anyway5 anyway7 unread4-7 unread5-7 unread6-7"},
		{"behind a handshake", client, []frame{{seq: 1, isHello: true}, {seq: 4}}, "close1 close4 ping4 unread1-4"},
		{"a question", client, []frame{{seq: 4, isRequest: true}}, "close4 twin4 retract4"},
		{"the answer to a subscription", client, []frame{{seq: 4, isSubscribed: true}}, "close4 gap4"},
		{"a question in a call", client, []frame{{seq: 4, isRequest: true, isInCall: true}}, "close4 namesake4 twin4 retract4"},
		{"behind no handshake", client, []frame{{seq: 1}, {seq: 4}}, "close1 close4 unread1-4"},
		{"of the client", stdio, []frame{{seq: 4}}, "end4"},
		{"a request", stdio, []frame{{seq: 4, isRequest: true, split: 1}}, "end4 endrest4 cancel4 later4 split4@1 unread4-4 term4 gone4 crossed4"},
		{"initialize", stdio, []frame{hello}, "end1"},
		{"a call of three steps", web, []frame{{seq: 4, isRequest: true, rests: 3, what: "a", beside: []uint64{4, 5}}, {seq: 5, what: "b"}},
			"join4-5 end4 end5 cancel4 later4 prompt4-5.step4@0 prompt4-5.step4@1 prompt4-5.step4@2 later4.step4@1 later4.step4@2 deaf4 reopen4 unread4-5 hangup4 part4 desert4 clash4 crossed4"},
		{"news behind the last of three calls", web, []frame{{seq: 4, isRequest: true, isHello: true}, {seq: 5, what: "a", isRequest: true, hasChange: true}, {seq: 6, what: "a", isRequest: true, hasChange: true}},
			"end4 end5 end6 cancel5 cancel6 later5 later6 flood5@20 flood5@20.later5 deaf5 reopen5 miss5-6 relist5 relist6 unread5-6 unread6-6 hangup5 hangup6 part5 crossed5"},
		{"a subscription, and a call", web, []frame{{seq: 4, isRequest: true, isHello: true}, {seq: 5, what: "resources/subscribe a://1", isRequest: true}, {seq: 6, what: "a", isRequest: true}},
			"end4 end5 end6 cancel5 cancel6 later5 later6 deaf5 reopen5 unread5-6 unread6-6 hangup5 hangup6 meet5-6 meet6-5 part5 part6 unsubscribe6 crossed5 crossed6"},
		{"two calls of a tool that take time, and another", stdio, []frame{{seq: 4, isRequest: true, rests: 1, what: "a", beside: []uint64{4, 5}}, {seq: 5, isRequest: true, rests: 1, what: "a", beside: []uint64{5, 6}}, {seq: 6, what: "b"}},
			"join4-5 join5-6 end4 end5 end6 endrest4 endrest5 cancel4 cancel5 later4 later5 quit4-5 quit5-4 prompt4-5.step4@0 prompt5-6.step5@0 leave4-5 flood4@20 flood4@20.later4 unread4-6 unread5-6 term4 gone4 crossed4"},
		{"a request that comes again", stdio, []frame{{seq: 4, isRequest: true, what: "a"}, {seq: 5, isRequest: true, what: "a"}, {seq: 6, isRequest: true, what: "b"}},
			"end4 end5 end6 endrest4 endrest5 endrest6 cancel4 cancel5 cancel6 later4 later5 later6 flood4@20 flood4@20.later4 unread4-6 unread5-6 unread6-6 term4 term6 gone4 gone6 crossed4 crossed6"},
		{"one behind which the server asks", stdio, []frame{{seq: 4, questions: 1}, {seq: 5}, {seq: 6}, {seq: 7}, {seq: 8}}, "end4 end5 end6 end7 end8 hold4-7 refuse4"},
		{"one that comes again, with a short answer", stdio, []frame{{seq: 4, isRequest: true, size: 200, what: "a"}, {seq: 5, isHello: true, isRequest: true, what: "a"}},
			"end4 end5 endrest4 cancel4 later4 flood4@40 flood4@40.later4 unread4-5 term4 gone4 crossed4"},
		{"one behind which it asks twice", stdio, []frame{{seq: 4, questions: 2}}, "end4 hold4-4 refuse4 reverse4"},
		{"the same over HTTP", web, []frame{{seq: 4, questions: 2}}, "end4 hold4-4 refuse4"},
		{"one behind which it asks, and another request", stdio, []frame{{seq: 4, questions: 1, what: "a"}, {seq: 5, isHello: true, isRequest: true, what: "b"}}, "end4 end5 hold4-5 busy4-5 alias4-5 refuse4"},
		{"a call in which it asks", stdio, []frame{{seq: 4, isRequest: true, questions: 1}}, "end4 endrest4 cancel4 later4 hold4-4 withdraw4 refuse4 unread4-4 term4 gone4 crossed4"},
		{"a call of a client that tells of its roots", serverPeer{events: tellingRoots()}, []frame{{seq: 4, isRequest: true}}, "end4 endrest4 cancel4 later4 roots4 unread4-4 term4 gone4 crossed4"},
		{"one behind which it asks for the roots", serverPeer{events: tellingRoots()}, []frame{{seq: 4, questions: 1, asksRoots: true}, {seq: 5, questions: 1, asksRoots: true}}, "end4 end5 hold4-5 hold5-5 refuse4 refuse5 moved4"},
		{"two calls in which it asks", stdio, []frame{{seq: 4, isRequest: true, isHello: true, questions: 1, beside: []uint64{4, 5}}, {seq: 5, isRequest: true, isHello: true, questions: 1}},
			"join4-5 end4 end5 hold4-5 hold5-5 refuse4 refuse5 lastfirst4-5"},
		{"a page, and two calls", serverPeer{Server: Server{URL: "http://x"}, events: twoCalls()}, []frame{{seq: 4, isPage: true, what: "a"}, {seq: 5, what: "tools/call x"}, {seq: 6, what: "tools/call x"}, {seq: 7, what: "tools/call x"}},
			"end4 end5 end6 end7 rewalk4 between4-5 between4-7"},
		{"two calls of a tool with other arguments", serverPeer{events: twoCalls()}, []frame{{seq: 6, isRequest: true, what: "tools/call x", beside: []uint64{6, 7}}, {seq: 7, isRequest: true, isHello: true, what: "tools/call x"}},
			"join6-7 end6 end7 endrest6 cancel6 later6 quit6-7 quit7-6 leave6-7 flood6@20 flood6@20.later6 swap6-7 unread6-7 term6 gone6 crossed6"},
		{"a page of a list that comes twice", web, []frame{{seq: 4, isPage: true, what: "a"}, {seq: 5, isPage: true, what: "a"}}, "end4 end5 rewalk4"},
		{"one behind which it tells something", stdio, []frame{{seq: 1, isHello: true}, {seq: 4, isRequest: true, isTold: true, what: "a", beside: []uint64{4, 5}}, {seq: 5, isHello: true, isRequest: true, what: "a"}},
			"join4-5 end1 end4 end5 endrest4 cancel4 later4 prompt4-5 quit4-5 quit5-4 leave4-5 flood4@20 flood4@20.later4 unread4-5 term4 gone4 crossed4"},
		{"two with long answers", stdio, []frame{{seq: 4, isRequest: true, size: 3000, what: "a", beside: []uint64{4, 5}}, {seq: 5, isHello: true, isRequest: true, size: 3000, what: "a"}},
			"join4-5 end4 end5 endrest4 cancel4 later4 quit4-5 quit5-4 leave4-5 sip4-5 flood4@20 flood4@20.later4 unread4-5 term4 gone4 crossed4"},
		{"one behind which a list changes", stdio, []frame{{seq: 4, hasChange: true}}, "end4 relist4"},
		{"two requests over HTTP", web, []frame{{seq: 4, isRequest: true, what: "a"}, {seq: 5, isRequest: true, what: "b"}},
			"end4 end5 cancel4 cancel5 later4 later5 deaf4 reopen4 unread4-5 unread5-5 hangup4 hangup5 meet4-5 meet5-4 part4 part5 crossed4 crossed5"},
		{"three calls of a tool", web, []frame{{seq: 4, isRequest: true, what: "a"}, {seq: 5, isRequest: true, what: "a"}, {seq: 6, isRequest: true, what: "a"}},
			"end4 end5 end6 cancel4 cancel5 cancel6 later4.later5 later4 later5 later6 flood4@20 flood4@20.later4 deaf4 reopen4 unread4-6 unread5-6 unread6-6 hangup4 hangup5 hangup6 part4 crossed4"},
		{"a call, and two of another tool", web, []frame{{seq: 4, isRequest: true, what: "b"}, {seq: 5, isRequest: true, what: "a"}, {seq: 6, isHello: true, isRequest: true, what: "a"}},
			"end4 end5 end6 cancel4 cancel5 later4 later5 flood5@20 flood5@20.later5 deaf4.flood5@20 deaf4 reopen4 unread4-6 unread5-6 hangup4 hangup5 meet4-5 meet5-4 part4 part5 crossed4 crossed5"},
		{"two that may go out at once", stdio, []frame{{seq: 1, isHello: true, beside: []uint64{1, 4}}, {seq: 4, beside: []uint64{4, 5}}}, "join1-4 join4-5 end1 end4"},
		{"two requests that may", stdio, []frame{{seq: 4, isRequest: true, what: "a", beside: []uint64{4, 5}}, {seq: 5, isHello: true, isRequest: true}}, "join4-5 end4 end5 endrest4 cancel4 later4 quit4-5 leave4-5 swap4-5 unread4-5 term4 gone4 crossed4"},
		{"the same over HTTP", web, []frame{{seq: 1, isHello: true, beside: []uint64{1, 4}}, {seq: 4, beside: []uint64{4, 5}}}, "join4-5 end1 end4"},
		{"a request over HTTP", web, []frame{{seq: 4, isRequest: true}}, "end4 cancel4 later4 deaf4 reopen4 unread4-4 hangup4 part4 crossed4"},
		{"initialize over HTTP", web, []frame{hello}, "end1"},
		{"one whose response can be resumed", web, []frame{{seq: 4, isResumable: true}}, "end4 cut4"},
		{"one with a request behind it", web, []frame{{seq: 4, isResumable: true}, {seq: 5, isHello: true, isRequest: true}}, "end4 end5 cut4 away4-5"},
	} {
		var got []string
		for _, c := range slices.Concat(test.peer.choices(test.frames)...) {
			got = append(got, strings.TrimPrefix(c.Token(), tokenHead+"."))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", test.name, strings.Join(got, " "), test.want)
		}
	}
	for method, want := range map[string]bool{
		mcp.NotificationMessage: true, mcp.NotificationResourceUpdated: true, mcp.NotificationToolListChanged: true,
		mcp.NotificationProgress: false, mcp.NotificationCancelled: false, mcp.MethodListRoots: false, "": false,
	} {
		p := clientPlayer{start: 1, first: 1, told: map[string]uint64{}, session: newPlayedSession(transport.ClientToServer, false, func(*fault, transport.Frame) {})}
		p.describe(sending{seq: 3, frame: transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","method":"` + method + `"}`)}})
		if got := p.play.frames[0].isNotice; got != want {
			t.Errorf("%q may be repeated: %v", method, got)
		}
	}
}

// TestOtherThanPlain holds that a client may print as the answers came, but nothing else; and whatever it likes when something
// else came sooner or later.
func TestOtherThanPlain(t *testing.T) {
	answer := func(seq uint64) frame { return frame{seq: seq, isAnswer: true} }
	x := &explorer{plain: play{frames: []frame{{seq: 3}, answer(5), answer(6)}, output: "a 1\nb 2\n"}}
	for _, row := range []struct {
		frames []frame
		output string
		isOK   bool
	}{
		{[]frame{{seq: 3}, answer(5), answer(6)}, "a 1\nb 2\n", true},
		{[]frame{{seq: 3}, answer(5), answer(6)}, "b 2\na 1\n", false},
		{[]frame{{seq: 3}, answer(6), answer(5)}, "b 2\na 1\n", true},
		{[]frame{{seq: 3}, answer(6), answer(5)}, "b 1\na 2\n", false},
		{[]frame{answer(5), {seq: 3}, answer(6)}, "b 1\na 2\n", true},
	} {
		if found := x.otherThanPlain(play{frames: row.frames, output: row.output}); (found == nil) != row.isOK {
			t.Errorf("%v prints %q: %+v", row.frames, row.output, found)
		}
	}
}

// TestAnswerAnew holds that a client which asks once for what has changed twice gets the list as it is then.
func TestAnswerAnew(t *testing.T) {
	p := clientPlayer{
		session: newPlayedSession(transport.ClientToServer, false, func(*fault, transport.Frame) {}), reads: map[*timeline.Call]standin.Reading{}, told: map[string]uint64{},
		versions: standin.Versions{mcp.MethodListTools: {{Event: 6, Result: []byte(`"old"`)}, {Event: 12, Result: []byte(`"new"`)}}},
	}
	m := p.session.take(transport.ClientToServer, transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)}).Messages[0]
	p.reads[m.Call] = standin.ReadingOf(m.Message)
	for changed, want := range map[uint64]string{0: "old", 5: "old", 9: "new", 20: "old"} { // behind 20 the recording has none
		p.told[mcp.MethodListTools] = changed
		got := p.answerAnew(6, transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","id":7,"result":"old"}`)})
		if string(got.Bytes) != `{"jsonrpc":"2.0","id":7,"result":"`+want+`"}` {
			t.Errorf("when a change was told at %d: %s, want the %s one", changed, got.Bytes, want)
		}
	}
}
