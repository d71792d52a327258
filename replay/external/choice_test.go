package external

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestToken holds that a schedule comes back from its token.
func TestToken(t *testing.T) {
	for _, s := range []Schedule{
		nil,
		{{Kind: Join, First: 5, Last: 6}},
		{{Kind: Split, First: 7, Last: 7, At: 20}, {Kind: Cancel, First: 7, Last: 7}, {Kind: LateCancel, First: 8, Last: 8}, {Kind: End, First: 9, Last: 9}},
		{{Kind: Unread, First: 2, Last: 9}, {Kind: Hold, First: 3, Last: 4}, {Kind: Ahead, First: 4, Last: 4}},
		{{Kind: Order, First: 5, Last: 7, Frames: []uint64{7, 5, 6}}},
	} {
		got, err := ParseToken(s.Token())
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s: %+v, %v; want %+v", s.Token(), got, err, s)
		}
	}
	for _, bad := range []string{"", "x1", "x2.join1-2", "x1.", "x1.join5", "x1.jump5", "x1.join5-6-7", "x1.split5", "x1.order", "x1.end99999999999999999999", "x1.join-", "x1.plain.end4"} {
		if s, err := ParseToken(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, s)
		} else if bad != "" && !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v does not name it", bad, err)
		}
	}
}

// FuzzToken holds that a token that is read is written as it stood, or in one normal form.
func FuzzToken(f *testing.F) {
	for _, seed := range []string{"x1.plain", "x1.join5-6.end9", "x1.split7@20", "x1.order7-5-6"} {
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
		{seq: 2, isRequest: true, isHello: true, size: 9, beside: []uint64{2}},
		{seq: 4, size: 9, beside: []uint64{4, 5, 7}, asks: true},
		{seq: 5, isRequest: true, size: 9, beside: []uint64{5, 7}},
		{seq: 7, isRequest: true, size: 9, beside: []uint64{7}},
	}
	got := list(serverPeer{}.choices(frames), 90, rand.New(rand.NewPCG(1, 1)))
	alone, beside := 0, 0
	for i, s := range got {
		if len(s) > 1 && slices.ContainsFunc(s[1:], func(c Choice) bool { return c.First <= s[0].Last }) { // they are sorted
			beside++
		}
		if len(s) == 1 {
			alone++
			if i != alone-1 {
				t.Errorf("%s comes behind a schedule of several choices", s.Token())
			}
		}
		for _, c := range s {
			if c.First == 2 && (c.Kind == Cancel || c.Kind == LateCancel) {
				t.Errorf("%s cancels initialize", s.Token())
			}
		}
	}
	if beside <= (len(got)-alone)/2 {
		t.Errorf("%d of %d schedules with several choices have two about the same frames", beside, len(got)-alone)
	}
	// Two pairs, a triple, four ends, two at rest, four cancellations, four splits, one hold, two unread.
	if alone != 20 || len(got) != 90 {
		t.Errorf("%d of %d schedules have one choice", alone, len(got))
	}
}
