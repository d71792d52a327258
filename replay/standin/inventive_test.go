package standin_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// inventive stands between the two halves of a session as if one end made up other
// values than the recorded one: it says them with "live" in front, and knows no
// others.
type inventive struct {
	by     transport.Direction // what the end sends
	values [][]byte
}

var (
	inventedTask = regexp.MustCompile(`"taskId" ?: ?"([^"\\]+)"`)
	inventedUUID = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// newInventive finds the values that one end of a session was the first to say: the
// ids of tasks, which a client too makes up, and the UUIDs that came back.
func newInventive(events []store.Event, by transport.Direction) *inventive {
	m := &inventive{by: by}
	others := said(events)
	for i, f := range others {
		if f.dir != by {
			continue
		}
		for _, found := range inventedTask.FindAllSubmatch(f.bytes, -1) {
			m.add(found[1], others[:i], nil)
		}
		for _, found := range inventedUUID.FindAll(f.bytes, -1) {
			m.add(found, others[:i], others[i:])
		}
	}
	return m
}

// add takes a value that the other end has not said before, but after, if need be.
func (m *inventive) add(value []byte, before, after []spoken) {
	says := func(frames []spoken) bool {
		for _, f := range frames {
			if f.dir != m.by && bytes.Contains(f.bytes, value) {
				return true
			}
		}
		return false
	}
	if len(value) < 4 || says(before) || after != nil && !says(after) {
		return // a short one may be anything
	}
	for _, known := range m.values {
		if bytes.Equal(known, value) {
			return
		}
	}
	m.values = append(m.values, bytes.Clone(value))
}

// live is what the end says now for a value; a UUID is another UUID.
func live(value []byte) []byte {
	if inventedUUID.Match(value) {
		return append([]byte("11ffe000"), value[8:]...)
	}
	return append([]byte("live"), value...)
}

func (m *inventive) translate(dir transport.Direction, frame []byte) (recorded, delivered []byte) {
	if dir == m.by {
		delivered = frame
		for _, v := range m.values {
			delivered = bytes.ReplaceAll(delivered, v, live(v))
		}
		return frame, delivered
	}
	recorded = frame
	for i, v := range m.values { // what is not the live value is of the recording, and unknown to the end
		recorded = bytes.ReplaceAll(recorded, live(v), fmt.Appendf(nil, "\x00%d\x00", i))
		recorded = bytes.ReplaceAll(recorded, v, []byte("of the recording"))
		recorded = bytes.ReplaceAll(recorded, fmt.Appendf(nil, "\x00%d\x00", i), v)
	}
	return recorded, recorded
}

// TestSelfPlayInventive plays each session to itself with one end that makes up other values:
// the other is told the live ones wherever the recorded ones stood, what came is all
// the same a match, and says why.
func TestSelfPlayInventive(t *testing.T) {
	values, mapped := 0, 0
	eachSession(t, func(t *testing.T, events []store.Event) {
		for _, by := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			m := newInventive(events, by)
			if len(m.values) == 0 {
				continue
			}
			values += len(m.values)
			s := playBoth(events, transport.ClientToServer, m.translate)
			mapped += checkInventive(t, s, events, by)
		}
	})
	t.Logf("%d values, %d mapped", values, mapped)
	if values < 5 || mapped < values {
		t.Errorf("%d values, %d mapped: that says little", values, mapped)
	}
}

// checkInventive returns how often a value was mapped.
func checkInventive(t *testing.T, s selfPlay, events []store.Event, by transport.Direction) (mapped int) {
	t.Helper()
	for _, v := range append(s.player.Verdicts(), s.driver.Verdicts()...) {
		if v.Result != match.Match {
			t.Errorf("%s makes up other values: %v", by.Sender(), v)
		}
		for _, m := range v.Mapped {
			if m.By != "variable" || !strings.Contains(m.Got, "live") && !strings.Contains(m.Got, "11ffe000") {
				t.Errorf("%s makes up other values: %+v", by.Sender(), m)
			}
			mapped++
		}
	}
	want := said(events)
	for i := range max(len(want), len(s.trace)) {
		if got, want := at(s.trace, i), at(want, i); got != want {
			t.Errorf("%s makes up other values, message %d: said\n  %.300s\nfor\n  %.300s", by.Sender(), i+1, got, want)
			return mapped
		}
	}
	return mapped
}
