//go:build amd64 || arm64

package external

import (
	"slices"
	"strings"
	"testing"
)

// TestPart holds that a server is found which takes the end of one client's session for that of another's.
func TestPart(t *testing.T) {
	for fault, want := range map[string]string{
		"ends every session": "LOST: the response ended without an answer to tools/call add (#", // #5 or #7, as the two come
		"tells nobody when one leaves": "DIFFERENT ANSWER when another client ends its session at the same time: tools/call add (#7); reproduced 3 times out of 3\n" +
			"  notifications/tools/list_changed came behind that in the recorded order, and comes no more\n",
		"tells":          "2 orders",
		"refuses others": "note: the server refused another client while it had one: 400 Bad Request: one client is enough\n2 orders",
		"healthy":        "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.part5"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestDesert holds that what a call holds is free when the session of that call has ended.
func TestDesert(t *testing.T) {
	for fault, want := range map[string]string{
		"holds what nobody waits for": "HANG (observed; not a proof): no answer to tools/call add (#5); ",
		"holds":                       "2 orders",
		"refuses others":              "note: the server refused another client while it had one: 400 Bad Request: one client is enough\n2 orders",
		"healthy":                     "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.desert5"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestClash holds that a call goes on whose id another client has cancelled.
func TestClash(t *testing.T) {
	for fault, want := range map[string]string{
		"cancels by the id alone": "DIFFERENT ANSWER when another client cancels its call of the same id: tools/call add (#5); reproduced 3 times out of 3\n  the other client, which has cancelled nothing, gets no answer: its stream has ended\n",
		"cancels":                 "2 orders",
		"healthy":                 "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.clash5"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestMeeting holds that a server which mixes two clients is found, that one which has a state for all is not, and that it is
// a note if another client is refused.
func TestMeeting(t *testing.T) {
	for fault, want := range map[string]string{
		"mixes clients": "DIFFERENT ANSWER when another client asks at the same time: tools/call get (#9); reproduced 3 times out of 3\n" +
			`  tools/call get (#9) is answered by
    {"content":[{"text":"session 2","type":"text"}]}
  and in the recorded order by
    {"content":[{"text":"session 1","type":"text"}]}
  another client, with a session of its own, asks what tools/call add (#5) asks, together with tools/call get (#9) and under its id
  token: x1.meet9-5
`,
		"refuses others": "note: the server refused another client while it had one: 400 Bad Request: one client is enough\n2 orders",
		"healthy":        "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.meet9-5"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestVisit holds that a server is found which tells another client what is for the client whose call it was.
func TestVisit(t *testing.T) {
	for fault, want := range map[string]string{
		"notes later, to who asked last": "DIFFERENT ANSWER when another client asks behind that: tools/call add (#5); reproduced 3 times out of 3\n" +
			"  the other client is told, and this one is told less than when the other has asked before\n    notifications/message {\"level\":\"info\",\"data\":\"done\"}\n" +
			"  another client, with a session of its own, asks what tools/call get (#9) asks when tools/call add (#5) is answered, and the client goes on when the server does nothing more\n",
		"notes later": "2 orders",
		"healthy":     "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.visit5-9"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestUnsubscribe holds that a server is found which takes the end of one client's subscription for that of another's.
func TestUnsubscribe(t *testing.T) {
	events, say := newSession()
	*events = slices.Clone(session()[:4])
	say(c2s, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a://1"}}`)
	say(s2c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	for id := 3; id <= 4; id++ {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add"}}`, id)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id)
	}
	for fault, want := range map[string]string{
		"tells nobody when one unsubscribes": "DIFFERENT ANSWER when another client unsubscribes: tools/call add (#7); reproduced 3 times out of 3\n" +
			"  notifications/tools/list_changed came behind that in the recorded order, and comes no more\n" +
			"  another client, with a session of its own, subscribes to what this one has subscribed to, and unsubscribes, in front of tools/call add (#7)\n",
		"tells":          "2 orders",
		"refuses others": "note: the server refused another client while it had one: 400 Bad Request: one client is enough\n2 orders",
		"healthy":        "2 orders",
	} {
		report, err := Explore(webServer(fault), *events, Options{Token: "x1.unsubscribe7"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}
