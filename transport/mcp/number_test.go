package mcp

import (
	"reflect"
	"testing"
)

// TestValue: two texts have one value exactly if they say the same.
func TestValue(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1.0`, true},
		{`{"a":[1e2,"x"]}`, ` {"a" : [100, "\u0078"]} `, true},
		{`{"maximum":9007199254740993}`, `{"maximum":9007199254740992}`, false},
		{`1`, `"1"`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`-0`, `0`, true},
	} {
		a, errA := Value([]byte(test.a))
		b, errB := Value([]byte(test.b))
		if errA != nil || errB != nil || reflect.DeepEqual(a, b) != test.same {
			t.Errorf("%s and %s: %v, %v, %v, %v; want the same: %v", test.a, test.b, a, b, errA, errB, test.same)
		}
	}
	for _, text := range []string{"", "{", "1 2", "nan"} {
		if v, err := Value([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}

// TestCompareNumbers: numbers that a float64 cannot tell apart are told apart.
func TestCompareNumbers(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"1", "2", -1}, {"2", "10", -1}, {"-1", "1", -1}, {"1e2", "100", 0}, {"0.1", "0.10", 0},
		{"9007199254740992", "9007199254740993", -1},
		{"0.1000000000000000000000000001", "0.1", 1},
		{"1e400", "1", 1}, {"1e-400", "2e-400", -1}, {"-1e400", "1e400", -1}, {"1e400", "2e400", -1},
		{"1e99999999999999999999", "2e99999999999999999999", 0},
	} {
		if got := CompareNumbers(test.a, test.b); got != test.want {
			t.Errorf("%s and %s: %d, want %d", test.a, test.b, got, test.want)
		}
		if got := CompareNumbers(test.b, test.a); got != -test.want {
			t.Errorf("%s and %s: %d, want %d", test.b, test.a, got, -test.want)
		}
	}
}

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "-1.5e3": true, "01": false, "": false, "NaN": false, "0x1": false, "true": false, "-": false, " 1": false, "1 ": false} {
		if IsNumber(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
