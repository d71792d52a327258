package objects

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

const day = "2026/11/21"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// idAt returns a version 7 id.
func idAt(at time.Time, n int) store.SessionID {
	ms := at.UnixMilli()
	return store.SessionID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n))
}

func TestIDDay(t *testing.T) {
	for id, want := range map[store.SessionID]string{
		idAt(noon, 1):                        day,
		idAt(noon.Truncate(24*time.Hour), 1): day,
		idAt(noon.Truncate(24*time.Hour).Add(-time.Millisecond), 1): "2026/11/20",
		"00000000-0000-7000-8000-000000000000":                      "1970/01/01",
		"ffffffff-ffff-7fff-bfff-ffffffffffff":                      "", // the year 10889
		store.DeriveSessionID(nil):                                  "",
		"f47ac10b-58cc-4372-a567-0e02b2c3d479":                      "",
		"no id":                                                     "",
	} {
		if got := idDay(id); got != want {
			t.Errorf("%s: day %q, want %q", id, got, want)
		}
	}
}

// TestSpanOf: the day of a version 7 id is in the span of each of its prefixes.
func TestSpanOf(t *testing.T) {
	for _, id := range []store.SessionID{idAt(noon, 1), idAt(time.UnixMilli(0), 1), idAt(time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC), 1)} {
		for n := range len(id) + 1 {
			within := spanOf(string(id[:n]))
			for _, part := range []string{idDay(id)[:4], idDay(id)[:7], idDay(id)} {
				if !within.holds(part) {
					t.Errorf("prefix %s of %s: %v does not hold %s", id[:n], idDay(id), within, part)
				}
			}
			if n >= 13 && within.first != within.last {
				t.Errorf("prefix %s: %v, want one day", id[:n], within)
			}
			if n >= 4 && n < 13 && within.holds("2026/11/25") && within.holds("1999") {
				t.Errorf("prefix %s: %v is too much", id[:n], within)
			}
		}
	}
	for prefix, want := range map[string]span{
		"": {}, "x": {}, "ü": {}, "01/../": {}, "ffffffff": {"9999/12/31", "9999/12/31"}, "0": {"1970/01/01", "2527/06/23"},
	} {
		if got := spanOf(prefix); got != want {
			t.Errorf("%q: %v, want %v", prefix, got, want)
		}
	}
}

func TestParseKey(t *testing.T) {
	id := idAt(noon, 1)
	for key, want := range map[string]bool{
		sessionKey(day, id): true, summaryKey(day, id): true, markKey(id): false,
		root + day + "/" + strings.ToUpper(string(id)) + ".json": false,
		root + day + "/x.json":                 false,
		root + day + "/" + string(id) + ".txt": false,
		root + day:                             false, "v1/": false, "": false, "v2/" + day: false,
	} {
		gotDay, gotID, isSession, ok := parseKey(key)
		if ok != want || ok && (gotDay != day || gotID != id || isSession != strings.HasSuffix(key, ".zst")) {
			t.Errorf("%s: %s %s %t %t", key, gotDay, gotID, isSession, ok)
		}
	}
}

// TestEnough: the newest or oldest sessions of a day are among the first entries in order, although starts
// are up to idSlack away from the time in the id.
func TestEnough(t *testing.T) {
	var entries []entry
	starts := map[store.SessionID]time.Time{}
	add := func(id store.SessionID, start time.Time) {
		entries = append(entries, entry{id: id})
		starts[id] = start
	}
	for i := range 40 {
		at := noon.Add(time.Duration(i*i%37) * 400 * time.Millisecond)
		add(idAt(at, i), at.Add(time.Duration(i%3-1)*idSlack))
	}
	add("f47ac10b-58cc-4372-a567-0e02b2c3d479", noon)
	add(idAt(noon.AddDate(0, 0, 1), 1), noon.Add(time.Minute)) // its day is another one
	for _, newest := range []bool{false, true} {
		var all []store.Session
		for _, x := range entries {
			all = append(all, store.Session{Header: store.Header{ID: x.id, Start: starts[x.id]}})
		}
		all = store.Query{Newest: newest}.Order(all)
		for limit := 1; limit <= len(entries); limit++ {
			ordered := inOrder(slices.Clone(entries), day, newest)
			n := enough(ordered, day, limit)
			for _, want := range all[:limit] {
				if !slices.ContainsFunc(ordered[:n], func(x entry) bool { return x.id == want.ID }) {
					t.Errorf("newest %t, limit %d: %s is not among the %d", newest, limit, want.ID, n)
				}
			}
			if limit == 1 && n > 20 {
				t.Errorf("newest %t: %d entries for one session", newest, n)
			}
		}
	}
}

func TestRecord(t *testing.T) {
	id := idAt(noon, 1)
	session := store.Session{
		Header: store.Header{Version: 1, ID: id, Start: noon.Add(1), Transport: "stdio", Label: "<ü>", Command: []string{"a", "b"}, Labels: map[string]string{"x": "y"}},
		Head:   store.Head{Seq: 9, At: 123456789, Chain: [32]byte{1, 2, 31: 3}, Sealed: true},
		Frames: 7, Bytes: 1 << 40, Lost: 3, Doubtful: 4, Exit: "signal: killed", State: store.Ended,
	}
	text := encodeRecord(session, []byte("\x00\xff"))
	got, data, err := decodeRecord(id, text)
	if err != nil || string(data) != "\x00\xff" || string(store.EncodePayload(got)) != string(store.EncodePayload(session)) {
		t.Errorf("got %+v %q %v", got, data, err)
	}
	for name, c := range map[string]struct {
		old, new string
		want     error
	}{
		"newer":       {`"mcprec":1,"header"`, `"mcprec":2,"header"`, store.ErrNewer},
		"another id":  {string(id), string(idAt(noon, 2)), store.ErrCorrupt},
		"not sealed":  {`"sealed":true`, `"sealed":false`, store.ErrCorrupt},
		"short chain": {`"chain":"01`, `"chain":"`, store.ErrCorrupt},
		"no hex":      {`"chain":"01`, `"chain":"0x`, store.ErrCorrupt},
		"cut":         {`"sealed":true},`, `"sealed":tr`, store.ErrCorrupt},
		"no events":   {`"seq":9`, `"seq":0`, store.ErrCorrupt},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if _, _, err := decodeRecord(id, []byte(changed)); !errors.Is(err, c.want) || changed == string(text) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestChoose(t *testing.T) {
	ended := store.Session{Header: store.Header{Start: noon}, Head: store.Head{Seq: 2, At: time.Hour, Sealed: true}, State: store.Ended}
	crashed := ended
	crashed.Head.Sealed = false
	crashed.State = store.Crashed
	live := ended
	live.State = store.Live
	end := noon.Add(time.Hour)
	for name, c := range map[string]struct {
		session store.Session
		before  time.Time
		copied  bool
		delete  bool
		want    Step
	}{
		"old":              {ended, end.Add(1), false, false, Copy},
		"old, to delete":   {ended, end.Add(1), false, true, Copy},
		"too young":        {ended, end, false, true, Leave},
		"young and copied": {ended, end, true, true, Leave},
		"copied":           {ended, end.Add(1), true, false, Leave},
		"copied, delete":   {ended, end.Add(1), true, true, Remove},
		"crashed":          {crashed, end.Add(1), false, true, Leave},
		"live":             {live, end.Add(1), false, true, Leave},
	} {
		if got := (Rule{c.before, c.delete}).Choose(c.session, c.copied); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
