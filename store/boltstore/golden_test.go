package boltstore

import (
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// goldenLog has one event of every shape.
func goldenLog() []store.Event {
	h := store.Header{
		ID: testID(7), Start: testStart(7).Add(5), Transport: "http", Label: "golden", Command: []string{"a", "", "b c"},
		URL: "http://localhost/mcp", Recorder: "v0", Expect: "hang swallowed",
	}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: h.Encode()}}
	for _, e := range []store.Event{
		{Kind: store.Frame, Dir: transport.ClientToServer, Stream: 300, Payload: []byte("{\"a\": 1 }\r")},
		{Kind: store.Frame, Dir: transport.ServerToClient, Unterminated: true, Payload: []byte("\xff\x00")},
		{Kind: "unheard of", Payload: []byte("kept")},
		{Kind: store.Lost, Payload: []byte(`{"frames":2,"bytes":9,"reason":"full"}`)},
		{Kind: store.Exited, Payload: []byte(`{"code":-1,"signal":"killed"}`)},
		{Kind: store.Closed, Payload: []byte(`{"frames":2,"lost":2}`)},
	} {
		e.Seq = uint64(len(events) + 1)
		e.At = 1 << (5 * e.Seq)
		events = append(events, e)
	}
	return events
}

// golden returns a file of a version of a format. As soon as that is released the file is never
// written again, and must be read for ever.
func golden(t *testing.T, name string, current []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, current, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGoldenSpool reads a spool in which there are chunks of pipes, and frames in parts.
func TestGoldenSpool(t *testing.T) {
	key, _ := testID(7).Bytes()
	b := appendSpoolHead(nil, key)
	c2s, stderr := store.Event{Kind: store.Frame, Dir: transport.ClientToServer}, store.Event{Kind: store.Stderr}
	chunk := func(e store.Event, at time.Duration, cont bool, text string) {
		e.At, e.Payload = at, []byte(text)
		b = appendRecord(b, &store.Part{Event: e, Chunk: true, Cont: cont})
	}
	for i, e := range goldenLog() {
		half := len(e.Payload) / 2
		first, rest := e, e
		first.Payload, rest.Payload = e.Payload[:half], e.Payload[half:]
		switch {
		case e.Kind == store.Frame:
			b = appendRecord(b, &store.Part{Event: first, More: true})
			b = appendRecord(b, &store.Part{Event: rest, Cont: true})
		default:
			b = appendRecord(b, &store.Part{Event: e})
		}
		if i == 5 {
			chunk(c2s, e.At+1, false, "{}\n{")
			chunk(stderr, e.At+2, true, "lost\nlin")
			chunk(stderr, e.At+3, false, "e\n")
			chunk(c2s, e.At+4, false, "}\n")
		}
	}
	piped := goldenLog()
	closed, at := piped[6], piped[5].At
	piped = piped[:6]
	for _, e := range []store.Event{
		{At: at + 1, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte("{}")},
		{At: at + 2, Kind: store.Lost, Payload: []byte(`{"frames":0,"bytes":4,"reason":"the beginning of their line was lost","streams":["stderr"]}`)},
		{At: at + 3, Kind: store.Stderr, Payload: []byte("line")},
		{At: at + 4, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte("{}")},
		{At: closed.At, Kind: store.Closed, Payload: []byte(`{"frames":4,"lost":2}`)},
	} {
		e.Seq = uint64(len(piped) + 1)
		piped = append(piped, e)
	}
	s := testStore(t, t.TempDir())
	if _, err := s.makeFolders(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.spoolPath(testID(7)), golden(t, "spool.v1", b), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRead(t, s, testID(7), piped)
	mustFoldDead(t, s)
	mustRead(t, s, testID(7), piped)
}

func TestGoldenMeta(t *testing.T) {
	key, _ := testID(7).Bytes()
	want := projection{spooled: 12345}
	for _, e := range goldenLog() {
		if err := want.take(key, e); err != nil {
			t.Fatal(err)
		}
	}
	got, err := decodeProjection(key, golden(t, "meta.v1", want.encode(key)), "meta.v1")
	if err != nil {
		t.Fatal(err)
	}
	if string(store.EncodePayload(got.session)) != string(store.EncodePayload(want.session)) || got.spooled != want.spooled || got.deleted {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestProjectionDamage flips every bit and cuts at every byte.
func TestProjectionDamage(t *testing.T) {
	key, _ := testID(7).Bytes()
	var p projection
	for _, e := range goldenLog() {
		if err := p.take(key, e); err != nil {
			t.Fatal(err)
		}
	}
	b := p.encode(key)
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if _, err := decodeProjection(key, b, "x"); err == nil {
			t.Fatalf("bit %d: accepted", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
	for n := range b {
		short := append([]byte(nil), b[:n]...)
		if n > 5 { // a sum that is right for what is left
			binary.LittleEndian.PutUint32(short, metaSum(key, short))
		}
		if _, err := decodeProjection(key, short, "x"); err == nil {
			t.Fatalf("cut at %d: accepted", n)
		}
	}
}
