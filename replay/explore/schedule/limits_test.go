package schedule

import (
	"encoding/json"
	"testing"
)

// FuzzLimits: levels and capacities of a plan are understood or refused, and written as
// they are read.
func FuzzLimits(f *testing.F) {
	f.Add(`"sending"`)
	f.Add(`{"c2s":0,"s2c":"unbounded"}`)
	f.Add(`{"c2s":-7}`)
	f.Fuzz(func(t *testing.T, text string) {
		var l Level
		if json.Unmarshal([]byte(text), &l) == nil {
			if again, err := ParseLevel(l.String()); err != nil || again != l {
				t.Errorf("%q is %v, and then %v, %v", text, l, again, err)
			}
		}
		var c, again Capacity
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		written, err := json.Marshal(c)
		if err != nil || json.Unmarshal(written, &again) != nil || again != c || c.C2S < Unbounded || c.S2C < Unbounded {
			t.Errorf("%q is %+v, written as %s, which is %+v, %v", text, c, written, again, err)
		}
	})
}
