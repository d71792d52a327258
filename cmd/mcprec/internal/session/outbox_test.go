package session

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
)

// secretSession returns a session with a secret under a usual name, and one under a name of the user's.
func secretSession(rules *store.MaskRules) (store.Header, []store.Event) {
	header := store.Header{ID: "019a0000-0000-7000-8000-000000000001", Start: time.Unix(1_700_000_000, 0), Transport: "stdio", Masked: rules}
	frame := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"password":"hunter2hunter2","team_word":"swordfish99"}}}`
	return header, []store.Event{
		{Seq: 1, Kind: store.Opened, Payload: header.Encode()},
		{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(frame)},
	}
}

// TestSaveMasksShared: what is put into a shared store is masked, by the rules of the session, with one
// key; what is put into a folder is not.
func TestSaveMasksShared(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	header, events := secretSession(&store.MaskRules{Keys: []string{"team_word"}})
	saved := func(folder string) string {
		db := &Store{Store: memstore.New(), Folder: folder, place: place{text: "nats://host/MCPREC"}}
		id, err := Save(t.Context(), db, events)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for event, err := range db.Read(t.Context(), id, 1, store.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			all.Write(event.Payload)
		}
		return all.String()
	}
	if text := saved("/folder"); !strings.Contains(text, "hunter2hunter2") {
		t.Errorf("masked in a folder: %s", text)
	}
	shared := saved("")
	if strings.Contains(shared, "hunter2hunter2") || strings.Contains(shared, "swordfish99") {
		t.Errorf("a secret is in the shared store: %s", shared)
	}
	if again := saved(""); again != shared {
		t.Errorf("masked in another way the second time:\n%s\n%s", shared, again)
	}
	if !bytes.Contains(events[1].Payload, []byte("hunter2hunter2")) || events[0].Kind != store.Opened || header.ID == "" {
		t.Error("the events of the caller were changed")
	}
}

// TestMaskShippedEnv: a session whose rules name an environment variable is not sent by a process
// that does not know its value.
func TestMaskShippedEnv(t *testing.T) {
	header, events := secretSession(&store.MaskRules{Env: []string{"TEAM_WORD"}})
	key := make([]byte, 32)
	t.Setenv("TEAM_WORD", "")
	if _, err := maskShipped(key, header); err == nil || !strings.Contains(err.Error(), "set TEAM_WORD to what it was") {
		t.Errorf("without the value: %v", err)
	}
	rules := Secrets{MaskRules: store.MaskRules{Env: []string{"TEAM_WORD"}}}
	if shipped := rules.ShippedRules(); len(shipped.Env) != 0 || len(rules.Env) != 1 {
		t.Errorf("a recorder without the value asks for it: %v", shipped.Env)
	}
	t.Setenv("TEAM_WORD", "swordfish99")
	mask, err := maskShipped(key, header)
	if err != nil {
		t.Fatal(err)
	}
	mask(events[0])
	if masked := mask(events[1]); bytes.Contains(masked.Payload, []byte("swordfish99")) {
		t.Errorf("not masked: %s", masked.Payload)
	}
}

// TestReadMaskKey: the forms of a key file.
func TestReadMaskKey(t *testing.T) {
	key := bytes.Repeat([]byte{0xa5}, 32)
	for name, test := range map[string]struct {
		text string
		ok   bool
	}{
		"hexadecimal":  {hex.EncodeToString(key) + "\n", true},
		"base64":       {base64.StdEncoding.EncodeToString(key) + "\r\n", true},
		"short":        {hex.EncodeToString(key[1:]), false},
		"short base64": {base64.StdEncoding.EncodeToString(key[1:]), false},
		"empty":        {"", false},
		"words":        {"correct horse battery staple", false},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadMaskKey(path)
		if test.ok != (err == nil) || test.ok && !bytes.Equal(got, key) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

// TestKeyOfOutbox: an outbox keeps the key of the team for those who send later; without one it has the
// machine's.
func TestKeyOfOutbox(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	machine, err := machineKey()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	team := bytes.Repeat([]byte{7}, 32)
	if err := os.WriteFile(file, []byte(hex.EncodeToString(team)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, test := range []struct {
		place, keyFile string
		want           []byte
	}{
		{"nats://127.0.0.1:1/A", "", machine},
		{"nats://127.0.0.1:1/A", file, team},
		{"nats://127.0.0.1:1/A", "", team},
		{"nats://127.0.0.1:1/B", "", machine},
	} {
		db, err := OpenRecorder(Home{Place: test.place}, RecordOptions{KeyFile: test.keyFile})
		if err != nil {
			t.Fatal(err)
		}
		key, err := db.RedactionKey()
		if err != nil || !bytes.Equal(key, test.want) {
			t.Errorf("%d: key %x, %v, want %x", i, key, err, test.want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	places, err := Outboxes()
	if err != nil || strings.Join(places, " ") != "nats://127.0.0.1:1/A nats://127.0.0.1:1/B" {
		t.Errorf("outboxes %q, %v", places, err)
	}
}
