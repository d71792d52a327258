package closed

import (
	"encoding/json"
	"testing"
)

// FuzzExpectation: what a fixture expects is understood or refused, and says the same
// when it is written out.
func FuzzExpectation(f *testing.F) {
	f.Add("hang blocked behind a notification client=notification-queue=0; pass client=independent buffer=10")
	f.Add("pass server=blocking-handlers c2s=unbounded s2c=2")
	f.Add("hang both sides write and neither reads client=notification-queue=2147483648")
	f.Add("pass buffer=c2s=1,s2c=2")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseExpectation(text)
		if err != nil {
			return
		}
		for _, x := range list {
			again, err := ParseExpectation(x.String())
			if err != nil || len(again) != 1 || again[0] != x {
				t.Errorf("%q is %+v, written as %q, which is %+v, %v", text, x, x, again, err)
			}
			if x.Setup.Capacity.C2S < -1 || x.Setup.Capacity.S2C < -1 {
				t.Errorf("%q: %+v", text, x)
			}
		}
	})
}

// FuzzSetup: models and capacities are understood or refused, and are written as they
// were read.
func FuzzSetup(f *testing.F) {
	f.Add("notification-queue=3")
	f.Add("c2s=1,s2c=unbounded")
	f.Add(`{"c2s":1,"s2c":"unbounded"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseModel(text); err == nil {
			if again, err := ParseModel(m.String()); err != nil || again != m {
				t.Errorf("%q: %v, %v", text, again, err)
			}
		}
		c, err := ParseCapacity(text)
		if err != nil && json.Unmarshal([]byte(text), &c) != nil {
			c = Capacity{}
		}
		var again Capacity
		if written, err := json.Marshal(c); err != nil || json.Unmarshal(written, &again) != nil || again != c {
			t.Errorf("%q: %s, %+v, %v", text, written, again, err)
		}
	})
}
