package closed

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseExpectation(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		" hang swallowed client=inbox:0 capacity=0; pass client=free capacity=0 ;": "hang swallowed client=inbox:0 server=free c2s=0 s2c=0; pass client=free server=free c2s=0 s2c=0",
		"hang":                                   "hang client=free server=free c2s=0 s2c=0",
		"hang never sent server=rigid c2s=3":     "hang never sent client=free server=rigid c2s=3 s2c=0",
		"pass capacity=c2s=1,s2c=unbounded":      "pass client=free server=free c2s=1 s2c=unbounded",
		"pass capacity=unbounded server=inbox:7": "pass client=free server=inbox:7 c2s=unbounded s2c=unbounded",
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
		{expectation, "client=free", `parse expectation "client=free": begin with pass or hang`},
		{expectation, "pass swallowed", `parse expectation "pass swallowed": category "swallowed": a hang may have one of: head-on, swallowed,`},
		{expectation, "hang odd", `category "odd"`},
		{expectation, "pass; hang depth=3", `parse expectation "hang depth=3": key "depth": want client, server, capacity, c2s or s2c`},
		{expectation, "pass c2s=-1", `parse capacity "-1": want a number of frames from 0, or unbounded`},
		{model, "", `parse model "": want free, rigid, inline, serial, serial-except-tools, or inbox:Q with Q from 0`},
		{model, "inbox", `parse model "inbox": want free`},
		{model, "free:1", `parse model "free:1": want free`},
		{model, "inbox:-1", `parse model "inbox:-1": the queue of inbox:Q is a number from 0`},
		{model, "inbox:x", `the queue of inbox:Q`},
		{capacity, "", `parse capacity "": want a number`},
		{capacity, "many", `parse capacity "many": want a number of frames from 0, or unbounded`},
		{capacity, "c2s=1,up=2", `parse capacity "c2s=1,up=2": want N, unbounded, or c2s=N,s2c=N`},
		{capacity, "c2s=", `parse capacity ""`},
		{capacity, "99999999999", `parse capacity`},
	} {
		if err := tt.parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestTextRoundTrips(t *testing.T) {
	for _, s := range []string{"free", "rigid", "inline", "serial", "inbox:0", "inbox:12"} {
		m, err := ParseModel(s)
		if err != nil || m.String() != s {
			t.Errorf("model %q: %v, %v", s, m, err)
		}
	}
	for _, s := range []string{"0", "17", "unbounded", "c2s=1,s2c=0", "c2s=unbounded,s2c=3"} {
		c, err := ParseCapacity(s)
		if err != nil || c.String() != s {
			t.Errorf("capacity %q: %v, %v", s, c, err)
		}
		b, _ := json.Marshal(c)
		var back Capacity
		if err := json.Unmarshal(b, &back); err != nil || back != c {
			t.Errorf("capacity %q as %s: %v, %v", s, b, back, err)
		}
	}
}

func TestExpectationCheck(t *testing.T) {
	r := load(t, seed)
	list, err := ParseExpectation("hang swallowed client=inbox:0 capacity=0; pass client=free capacity=0; hang client=inbox:0 capacity=unbounded; pass client=inbox:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if err := x.Check(r); err != nil {
			t.Error(err)
		}
	}
	wrong, _ := ParseExpectation("pass client=inbox:0; hang head-on client=inbox:0; hang")
	for _, x := range wrong {
		err := x.Check(r)
		if err == nil || !strings.HasPrefix(err.Error(), `check expectation "`+x.String()+`": got `) {
			t.Errorf("%v: %v", x, err)
		}
	}
}
