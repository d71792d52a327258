package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/procfs"
)

// fixtureSchema reads the schema of the lines of a fixture, which docs/format.md explains.
func fixtureSchema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	text, err := os.ReadFile("../../docs/fixture.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return &schema, validator(t, text)
}

// TestFixtureSchema: each line of each fixture of the project fits the schema.
func TestFixtureSchema(t *testing.T) {
	_, schema := fixtureSchema(t)
	fixtures := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "bin"):
			return fs.SkipDir
		case filepath.Ext(path) != ".jsonl":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(text, []byte(`{"mcprec":`)) {
			return err
		}
		fixtures++
		holdLines(t, schema, path, text)
		return nil
	})
	if err != nil || fixtures < 70 {
		t.Errorf("%d fixtures, %v", fixtures, err)
	}
}

// holdLines compares each line of a fixture with the schema.
func holdLines(t *testing.T, schema *jsonschema.Resolved, name string, text []byte) {
	t.Helper()
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var members map[string]json.RawMessage
		err := json.Unmarshal(line, &members)
		if err == nil && members["frame"] != nil {
			members["frame"] = json.RawMessage("0") // a message is any JSON: a number in it may be beyond Go's
		}
		var value any
		if line, err = json.Marshal(members); err == nil {
			err = json.Unmarshal(line, &value)
		}
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s:%d: %v", name, number, err)
		}
	}
}

// TestSchemaMembers: the schema has the members that the code writes, no others, and refuses what Decode
// refuses.
func TestSchemaMembers(t *testing.T) {
	schema, resolved := fixtureSchema(t)
	payloads := map[string]any{
		"opened": store.Header{}, "process": procfs.ID{}, "sse": store.SSEInfo{}, string(store.Note): store.NoteInfo{},
		string(store.Delivered): store.DeliveredInfo{}, string(store.Stalled): store.StalledInfo{}, string(store.HTTP): store.HTTPInfo{},
		string(store.EOF): store.EOFInfo{}, string(store.Exited): store.ExitInfo{}, string(store.Signal): store.SignalInfo{},
		string(store.Lost): store.LostInfo{}, string(store.Closed): store.ClosedInfo{},
	}
	for name, payload := range payloads {
		described := schema.Defs[name]
		if described == nil {
			t.Errorf("the schema has no %s", name)
			continue
		}
		var written []string
		for i := range reflect.TypeOf(payload).NumField() {
			member, _, _ := strings.Cut(reflect.TypeOf(payload).Field(i).Tag.Get("json"), ",")
			written = append(written, member)
		}
		slices.Sort(written)
		if said := slices.Sorted(maps.Keys(described.Properties)); !slices.Equal(said, written) {
			t.Errorf("the schema describes %v of %s; the code writes %v", said, name, written)
		}
	}
	var text bytes.Buffer
	encoder := jsonl.NewEncoder(&text)
	header := store.Header{ID: "0192a2b0-0000-7000-8000-000000000001", Start: time.Unix(0, 0), Transport: "stdio"}.Encode()
	for _, e := range []store.Event{
		{Seq: 1, Kind: store.Opened, At: time.Second, Payload: header},
		{Seq: 2, At: time.Second, Kind: store.Frame, Dir: transport.ClientToServer, Stream: 1, Unterminated: true, Redacted: 1, Cut: 1, Payload: []byte(`{"id":1}`)},
		{Seq: 3, At: time.Hour, Kind: store.Frame, Dir: transport.ServerToClient, Payload: []byte{0xff}},
		{Seq: 4, At: time.Hour, Kind: "of a later version", Payload: []byte(`[]`)},
	} {
		if err := encoder.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	holdLines(t, resolved, "encoded", text.Bytes())
	for _, wrong := range []string{
		`{"mcprec":2}`, `{"seq":2}`, `{"at":"12","frame":1}`, `{"dir":"up","frame":1}`, `{"frame":1,"text":""}`,
		`{"kind":"eof","frame":{"by":"sender"}}`, `{"kind":"exit","data":{"code":"0"}}`, `{"kind":"http","data":{"what":"?"}}`, `[]`,
	} {
		var value any
		if err := json.Unmarshal([]byte(wrong), &value); err != nil {
			t.Fatal(err)
		}
		if resolved.Validate(value) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}
