package stream

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

var testPlace = place{first: 65, part: 2, parts: 3, head: store.Head{Seq: 128, At: 3 * time.Second, Chain: [32]byte{1, 31: 0xff}, Sealed: true}}

func TestHeaderOfMessage(t *testing.T) {
	got, err := parseHeader(testPlace.header())
	if err != nil || !reflect.DeepEqual(got, testPlace) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, c := range []struct {
		old, new string
		want     error
	}{
		{`"v":1`, `"v":2`, store.ErrNewer},
		{`"first":65`, `"first":130`, store.ErrCorrupt},
		{`"first":65`, `"first":0`, store.ErrCorrupt},
		{`"part":2`, `"part":4`, store.ErrCorrupt},
		{`"part":2`, `"part":0`, store.ErrCorrupt},
		{`"at":3000000000`, `"at":-3`, store.ErrCorrupt},
		{`"chain":"01`, `"chain":"`, store.ErrCorrupt},
		{testPlace.header(), "", store.ErrCorrupt},
	} {
		text := strings.Replace(testPlace.header(), c.old, c.new, 1)
		if text == testPlace.header() {
			t.Fatalf("%s is not in the header", c.old)
		}
		if _, err := parseHeader(text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(testPlace.header())
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseHeader(text)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) {
				t.Errorf("neither damaged nor newer: %v", err)
			}
			return
		}
		if again, err := parseHeader(p.header()); err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("what was read and written is not read: %v", err)
		}
	})
}
