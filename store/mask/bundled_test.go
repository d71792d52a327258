package mask_test

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask"
)

// bundled returns the events of every session of the tree that fixtures reads.
func bundled(t testing.TB) map[string][]store.Event {
	t.Helper()
	sessions := map[string][]store.Event{}
	for _, pattern := range []string{"../../fixtures/*.jsonl", "../jsonl/testdata/*.jsonl", "../../fixtures/testdata/sessions/*.jsonl", "../../cmd/mcprec/testdata/*.jsonl"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if events, err := jsonl.ReadFile(name); err == nil {
				sessions[name] = events
			}
		}
	}
	if len(sessions) < 25 {
		t.Fatalf("%d sessions", len(sessions))
	}
	return sessions
}

func newMasker(t testing.TB) *mask.Masker {
	t.Helper()
	m, err := mask.New([]byte("a key of a test"), mask.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// protocolFields collects the values of a message that the protocol itself reads, by the names
// of their members: what pairs, routes and pages messages, and what describes tools.
func protocolFields(path string, v any, into map[string][]any) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			protocolFields(path, element, into)
		}
	case map[string]any:
		for name, member := range v {
			at := path + "/" + name
			switch name {
			case "jsonrpc", "id", "method", "progressToken", "requestId", "cursor", "nextCursor", "protocolVersion",
				"capabilities", "clientInfo", "serverInfo", "inputSchema", "outputSchema", "requestedSchema":
				into[at] = append(into[at], member)
			case "name", "uri", "uriTemplate", "type", "mimeType", "role", "taskId":
				if !strings.Contains(at, "/arguments/") && !strings.Contains(at, "structuredContent") {
					into[at] = append(into[at], member)
				}
			}
			protocolFields(at, member, into)
		}
	}
}

// TestProtocolFields masks every bundled session, as it is and with secrets beside what
// its messages hold, and holds that no field of the protocol changes.
func TestProtocolFields(t *testing.T) {
	m := newMasker(t)
	fields, masked := 0, 0
	fieldsOf := func(frame []byte) map[string][]any {
		var v any
		if err := json.Unmarshal(frame, &v); err != nil {
			return nil
		}
		all := map[string][]any{}
		protocolFields("", v, all)
		for _, values := range all { // members come in no order
			fields += len(values)
			slices.SortFunc(values, func(a, b any) int { return bytes.Compare(encoded(a), encoded(b)) })
		}
		return all
	}
	for name, events := range bundled(t) {
		for _, e := range events {
			if e.Kind != store.Frame {
				continue
			}
			frames := [][]byte{e.Payload}
			for within, secret := range map[string]string{
				`"params":{"`: `password":"hunter2x","`, `"result":{"`: `note":"token=abc123def456","`,
				`"arguments":{"`: `apiKey":"a1b2c3d4e5","`, `"text":"`: `password=hunter2x `,
			} {
				frames = append(frames, bytes.Replace(e.Payload, []byte(within), []byte(within+secret), 1))
			}
			for _, frame := range frames {
				got, n := m.Frame(frame)
				masked += n
				before, after := encoded(fieldsOf(frame)), encoded(fieldsOf(got))
				if json.Valid(frame) && !bytes.Equal(before, after) {
					t.Errorf("%s, event %d: %s became %s", name, e.Seq, before, after)
				}
			}
		}
	}
	if t.Logf("%d fields, %d secrets", fields, masked); fields < 10_000 || masked < 200 {
		t.Errorf("only %d fields and %d secrets were seen", fields, masked)
	}
}

func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// BenchmarkExport writes the bundled sessions out of a store, with and without masking, and
// reports how many times as long it takes with masking, by the medians.
func BenchmarkExport(b *testing.B) {
	st, err := boltstore.Open(b.TempDir(), boltstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	var ids []store.SessionID
	for name, events := range bundled(b) {
		h, err := store.ParseHeader(events[0].Payload)
		if err != nil || slices.Contains(ids, h.ID) {
			continue
		}
		if _, err := st.Append(b.Context(), h.ID, 0, events); err != nil {
			b.Fatalf("%s: %v", name, err)
		}
		ids = append(ids, h.ID)
	}
	m := newMasker(b)
	export := func(show func(store.Event) store.Event) (took time.Duration) {
		defer func(start time.Time) { took = time.Since(start) }(time.Now())
		for _, id := range ids {
			enc := jsonl.NewEncoder(io.Discard)
			for e, err := range st.Read(b.Context(), id, 1, store.ReadOptions{}) {
				if err != nil {
					b.Fatal(err)
				}
				if err := enc.Encode(show(e)); err != nil {
					b.Fatal(err)
				}
			}
		}
		return took
	}
	var plain, masked []time.Duration
	for b.Loop() {
		plain = append(plain, export(func(e store.Event) store.Event { return e }))
		masked = append(masked, export(m.Event))
	}
	slices.Sort(plain)
	slices.Sort(masked)
	b.ReportMetric(float64(masked[len(masked)/2])/float64(plain[len(plain)/2]), "x")
}
