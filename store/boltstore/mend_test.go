package boltstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// TestMend gives the mender what is left of a log, of which the letters are events, the
// small ones further parts, "-" open ends and "." missing bytes.
func TestMend(t *testing.T) {
	for _, c := range []struct {
		name, left, want string
		last             uint64
		bytes, lost      uint64
	}{
		{"nothing is missing", "1 2 3", "1 2 3", 3, 0, 0},
		{"the end", "1 2 .", "1 2 lost3 lost4", 4, 0, 2},
		{"in the middle", "1 . 4", "1 lost2 lost3 4", 4, 0, 2},
		{"twice", "1 . 3 . 5", "1 lost2 3 lost4 5", 5, 0, 2},
		{"all", ".", "1 lost2", 2, 0, 1},
		{"the middle of one that goes on", "1 2- . 3 +2", "1 2- !2 3", 3, 7, 0},
		{"the rest of one whose beginning is gone", "1 . +2- 3 +2", "1 lost2 3", 3, 2, 1},
		{"the end of two", "1 2- 3- +2- .", "1 2- 3- +2- !2 !3", 3, 5, 0},
		{"none of one that is open", "1 2- 3 +2", "1 2- 3 +2", 3, 0, 0},
	} {
		m := &mender{opened: opening(1), cause: "test"}
		var got []string
		say := func(parts []store.Part) {
			for _, p := range parts {
				got = append(got, partName(p))
			}
		}
		skipped := int64(0)
		for word := range strings.FieldsSeq(c.left) {
			if word == "." {
				skipped = 5
				continue
			}
			say(m.take(partOf(word), skipped))
			skipped = 0
		}
		say(m.end(c.last, skipped, nil))
		if text := strings.Join(got, " "); text != c.want || m.bytes != c.bytes || m.lost != c.lost {
			t.Errorf("%s: got %s, %d bytes, %d lost; want %s, %d, %d", c.name, text, m.bytes, m.lost, c.want, c.bytes, c.lost)
		}
	}
}

// TestMendEnd holds that the end of a log is put back.
func TestMendEnd(t *testing.T) {
	end := store.Part{Event: store.Event{Seq: 3, Kind: store.Closed, Payload: []byte("{}")}}
	m := &mender{opened: opening(1), cause: "test"}
	parts := m.end(3, 5, &end)
	if len(parts) != 3 || parts[1].Kind != store.Lost || parts[2].Kind != store.Closed {
		t.Errorf("got %v", parts)
	}
}

func partOf(word string) (p store.Part) {
	name, more := strings.CutSuffix(word, "-")
	name, cont := strings.CutPrefix(name, "+")
	_, _ = fmt.Sscan(name, &p.Seq)
	if p.Cont, p.More = cont, more; cont {
		p.Payload = []byte("more")[:2]
		return p
	}
	if p.Event = frameEvent(p.Seq, 10); p.Seq == 1 {
		p.Event = opening(1)
	}
	p.At, p.Dir = 0, transport.ClientToServer
	return p
}

func partName(p store.Part) string {
	switch {
	case p.Kind == store.Lost:
		return fmt.Sprintf("lost%d", p.Seq)
	case p.Cont && p.Unterminated:
		return fmt.Sprintf("!%d", p.Seq)
	}
	name := fmt.Sprint(p.Seq)
	if p.Cont {
		name = "+" + name
	}
	if p.More {
		name += "-"
	}
	return name
}
