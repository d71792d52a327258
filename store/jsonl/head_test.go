package jsonl

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzReadHead: a head in the usual form is read as encoding/json reads it.
func FuzzReadHead(f *testing.F) {
	for _, head := range []string{
		`{"seq":7,"at":"12.3ms","dir":"s2c"`, `{"seq":18446744073709551615,"at":"1s","dir":"c2s","stream":3`, `{"seq":007,"at":"1s","dir":"c2s"`,
		`{"seq":7,"at":"1s","dir":"c2s","stream":`, `{"seq":7,"at":"\u0031s","dir":"c2s"`, `{"seq":7,"at":"1s","dir":"c2s","cut":3`, `{"seq":,"at":"1s","dir":"c2s"`,
		`{"seq":7,"at":"1s","dir":"x"`, `{"seq":7,"at":"1s","dir":"c2s" `, `{"at":"1s","dir":"c2s"`, `{"seq":0,"at":"","dir":"s2c","stream":0`,
	} {
		f.Add(head)
	}
	f.Fuzz(func(t *testing.T, head string) {
		var got, want record
		if !got.readHead([]byte(head)) {
			if !reflect.DeepEqual(got, record{}) {
				t.Errorf("%q is not usual, and left %+v", head, got)
			}
			return
		}
		if err := json.Unmarshal([]byte(head+"}"), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %+v, want %+v, %v", head, got, want, err)
		}
	})
}

// TestReadHead: the head that an Encoder writes is in the usual form.
func TestReadHead(t *testing.T) {
	for head, want := range map[string]bool{
		`{"seq":7,"at":"12.3ms","dir":"s2c"`: true, `{"seq":7,"at":"12.3µs","dir":"s2c"`: true, `{"seq":7,"at":"1m0.5s","dir":"c2s","stream":12`: true,
		`{"seq":7,"at":"1s","dir":"c2s","cut":12`: false,
	} {
		var r record
		if got := r.readHead([]byte(head)); got != want {
			t.Errorf("%s: %t", head, got)
		}
	}
}
