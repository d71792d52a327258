package jetstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

func testEntry() entry {
	e := entry{session: testSession(), opened: true, held: true, writer: "TOKEN", lease: 35 * time.Second, clock: time.Date(2026, 11, 23, 1, 2, 4, 789, time.UTC)}
	e.session.Header = store.Header{
		Version: 1, ID: testID, Start: time.Date(2026, 11, 23, 1, 2, 3, 456, time.UTC), Transport: "stdio", Label: "server",
		Command: []string{"server", ""}, Labels: map[string]string{"team": "a"}, Processes: &store.Processes{Watched: []string{"c2s"}},
		Masked: &store.MaskRules{Keys: []string{"k"}},
	}
	return e
}

func TestEntry(t *testing.T) {
	grave := entry{session: store.Session{Header: store.Header{ID: testID}}, deleted: true, settled: true, writer: "T"}
	free := testEntry()
	free.held, free.clock = false, time.Time{}
	for _, want := range []entry{testEntry(), free, grave} {
		got, header, err := decodeEntry(testID, want.encode(testID))
		if err != nil {
			t.Fatal(err)
		}
		if err := got.takeHeader(header); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
	}
}

// A header that is too long is left out; its session is read from its first event.
func TestLongHeader(t *testing.T) {
	e := testEntry()
	e.session.Command = []string{strings.Repeat("x", maxHeader)}
	data := e.encode(testID)
	got, _, err := decodeEntry(testID, data)
	if err != nil || got.opened || !got.session.Start.Equal(e.session.Start) || len(data) > 1000 {
		t.Errorf("%d bytes, %+v, %v", len(data), got, err)
	}
}

func TestDamagedEntry(t *testing.T) {
	e := testEntry()
	data := e.encode(testID)
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		if _, _, err := decodeEntry(testID, bad); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("byte %d: %v", i, err)
		}
		if _, _, err := decodeEntry(testID, data[:i]); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	data[4]++
	binary.LittleEndian.PutUint32(data, entrySum(testID, data))
	if _, _, err := decodeEntry(testID, data); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer version: %v", err)
	}
}

func FuzzEntry(f *testing.F) {
	e := testEntry()
	f.Add(e.encode(testID))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		if len(data) > 4 {
			binary.LittleEndian.PutUint32(data, entrySum(testID, data))
		}
		e, header, err := decodeEntry(testID, data)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) {
				t.Errorf("neither damaged nor newer: %v", err)
			}
			return
		}
		if e.takeHeader(header) != nil {
			return
		}
		again, header, err := decodeEntry(testID, e.encode(testID))
		if err != nil || again.takeHeader(header) != nil || again.session.Head != e.session.Head || again.writer != e.writer {
			t.Errorf("what was read and written is not read: %v: %+v", err, again)
		}
	})
}

// TestOldEntry reads an entry of a claim that was written before entries had the holder's clock.
func TestOldEntry(t *testing.T) {
	want := testEntry()
	old := want
	old.held = false
	data := old.encode(testID)
	data[5] |= flagHeld
	binary.LittleEndian.PutUint32(data, entrySum(testID, data))
	got, _, err := decodeEntry(testID, data)
	if err != nil || !got.held || !got.clock.IsZero() || got.lease != want.lease {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSkew(t *testing.T) {
	server := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC) // when the entry was written
	const ago = 7 * time.Second
	for name, c := range map[string]struct {
		holder, here, want time.Duration // clocks, ahead of the servers'
	}{
		"all agree":              {0, 0, 0},
		"an election":            {-10 * time.Second, 0, 0},
		"the holder's is ahead":  {time.Hour, 0, time.Hour},
		"the holder's is behind": {-time.Hour, 0, -time.Hour},
		"this one is ahead":      {0, time.Hour, -time.Hour},
		"both are":               {time.Hour, time.Hour, 0},
		"each in its way":        {time.Hour, -time.Minute, time.Hour + time.Minute},
	} {
		e := entry{time: server, clock: server.Add(c.holder)}
		now := server.Add(ago)
		if got := e.skew(now, now.Add(c.here)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		// The session began a minute before the entry.
		session := store.Session{Header: store.Header{Start: e.clock.Add(-time.Minute)}, Skew: e.skew(now, now.Add(c.here))}
		if got, want := session.Lasts(now.Add(c.here)), time.Minute+ago; (got - want).Abs() > clockNoise {
			t.Errorf("%s: the session has lasted %v, want %v", name, got, want)
		}
	}
	unknown := entry{time: server}
	if got := unknown.skew(server, server.Add(time.Hour)); got != 0 {
		t.Errorf("without the holder's clock: %v", got)
	}
}
