package closed

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseExpectation(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		" hang blocked behind a notification client=notification-queue=0 buffer=0; pass client=independent buffer=0 ;": "hang blocked behind a notification client=notification-queue=0 server=independent c2s=0 s2c=0; pass client=independent server=independent c2s=0 s2c=0",
		"hang": "hang client=independent server=independent c2s=0 s2c=0",
		"hang never sent server=single-threaded c2s=3":      "hang never sent client=independent server=single-threaded c2s=3 s2c=0",
		"pass buffer=c2s=1,s2c=unbounded":                   "pass client=independent server=independent c2s=1 s2c=unbounded",
		"pass buffer=unbounded server=notification-queue=7": "pass client=independent server=notification-queue=7 c2s=unbounded s2c=unbounded",
	} {
		list, err := ParseExpectation(text)
		var got []string
		for _, x := range list {
			got = append(got, x.String())
		}
		if s := strings.Join(got, "; "); err != nil || s != want {
			t.Errorf("%q: %q, %v; want %q", text, s, err, want)
		}
	}
}

func TestBadText(t *testing.T) {
	expectation := func(s string) error { _, err := ParseExpectation(s); return err }
	model := func(s string) error { _, err := ParseModel(s); return err }
	capacity := func(s string) error { _, err := ParseCapacity(s); return err }
	for _, tt := range []struct {
		parse      func(string) error
		text, want string
	}{
		{expectation, "maybe", `parse expectation "maybe": begin with pass or hang`},
		{expectation, "client=independent", `parse expectation "client=independent": begin with pass or hang`},
		{expectation, "pass blocked behind a notification", `parse expectation "pass blocked behind a notification": category "blocked behind a notification": a hang may have one of: both sides write and neither reads, blocked behind a notification,`},
		{expectation, "hang odd", `category "odd"`},
		{expectation, "pass; hang depth=3", `parse expectation "hang depth=3": key "depth": want client, server, buffer, c2s or s2c`},
		{expectation, "pass c2s=-1", `parse buffer "-1": want a number of messages from 0, or unbounded`},
		{model, "", `parse model "": want one of independent, single-threaded, answers-inline, blocking-handlers, blocking-handlers-except-tools, or notification-queue=Q with Q from 0`},
		{model, "notification-queue", `parse model "notification-queue": want one of independent`},
		{model, "independent:1", `parse model "independent:1": want one of independent`},
		{model, "notification-queue=-1", `parse model "notification-queue=-1": the queue of notification-queue=Q is a number from 0`},
		{model, "notification-queue=x", `the queue of notification-queue=Q`},
		{capacity, "", `parse buffer "": want a number`},
		{capacity, "many", `parse buffer "many": want a number of messages from 0, or unbounded`},
		{capacity, "c2s=1,up=2", `parse buffer "c2s=1,up=2": want N, unbounded, or c2s=N,s2c=N`},
		{capacity, "c2s=", `parse buffer ""`},
		{capacity, "99999999999", `parse buffer`},
	} {
		if err := tt.parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestTextRoundTrips(t *testing.T) {
	for _, s := range []string{"independent", "single-threaded", "answers-inline", "blocking-handlers", "notification-queue=0", "notification-queue=12"} {
		m, err := ParseModel(s)
		if err != nil || m.String() != s {
			t.Errorf("model %q: %v, %v", s, m, err)
		}
	}
	for _, s := range []string{"0", "17", "unbounded", "c2s=1,s2c=0", "c2s=unbounded,s2c=3"} {
		c, err := ParseCapacity(s)
		if err != nil || c.String() != s {
			t.Errorf("buffer %q: %v, %v", s, c, err)
		}
		b, _ := json.Marshal(c)
		var back Capacity
		if err := json.Unmarshal(b, &back); err != nil || back != c {
			t.Errorf("buffer %q as %s: %v, %v", s, b, back, err)
		}
	}
}

func TestExpectationCheck(t *testing.T) {
	r := load(t, seed)
	list, err := ParseExpectation("hang blocked behind a notification client=notification-queue=0 buffer=0; pass client=independent buffer=0; hang client=notification-queue=0 buffer=unbounded; pass client=notification-queue=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if err := x.Check(r); err != nil {
			t.Error(err)
		}
	}
	wrong, _ := ParseExpectation("pass client=notification-queue=0; hang both sides write and neither reads client=notification-queue=0; hang")
	for _, x := range wrong {
		err := x.Check(r)
		if err == nil || !strings.HasPrefix(err.Error(), `check expectation "`+x.String()+`": got `) {
			t.Errorf("%v: %v", x, err)
		}
	}
}
