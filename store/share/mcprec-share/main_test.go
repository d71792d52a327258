package main

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
	"github.com/mcprec/mcprec/store/share/stream"
	"github.com/mcprec/mcprec/transport"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "7": 7, "7B": 7, "2k": 2048, "500MB": 5e8, "1.5GiB": 3 << 29, "110GB": 11e10, "1T": 1 << 40, "-1": -1, "much": -1, "7iB": -1} {
		if got, err := parseSize(text); got != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("size %q: %d, %v", text, got, err)
		}
	}
	for text, want := range map[string]time.Duration{"": 0, "36h": 36 * time.Hour, "7d": 168 * time.Hour, "2w": 336 * time.Hour, "1.5d": 36 * time.Hour, "-1h": -1, "-1d": -1, "soon": -1, "d": -1} {
		if got, err := parseAge(text); got != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("age %q: %v, %v", text, got, err)
		}
	}
}

// TestReadKey: the forms of a key file.
func TestReadKey(t *testing.T) {
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
		got, err := readKey(path)
		if test.ok != (err == nil) || test.ok && !bytes.Equal(got, key) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}

// TestMasker: a session is masked by the rules of push and by its own, and its header names the machine and asks
// for no further masks. A session whose rules name a variable that is not known here is not shipped.
func TestMasker(t *testing.T) {
	header := store.Header{ID: "01a17814-ee00-7000-8000-000000000001", Start: time.Now().UTC(), Transport: "stdio", Label: "nightly",
		Masked: &store.MaskRules{Keys: []string{"team_word"}, Env: []string{"TEAM_WORD"}}}
	events := []store.Event{
		{Seq: 1, Kind: store.Opened, Payload: header.Encode()},
		{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"password":"hunter2hunter2","team_word":"swordfish99","mine":"oystercatcher7","x":"albatross8"}}}`)},
	}
	m := masking{MaskRules: store.MaskRules{Keys: []string{"mine"}}}
	key := make([]byte, 32)
	t.Setenv("TEAM_WORD", "")
	if _, err := m.masker(key, "here", header); err == nil || !strings.Contains(err.Error(), "set TEAM_WORD to what it was in the recorder") {
		t.Errorf("without the variable: %v", err)
	}
	t.Setenv("TEAM_WORD", "albatross8")
	shipped := func(machine string) string {
		mask, err := m.masker(key, machine, header)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, event := range events {
			all.Write(mask(event).Payload)
		}
		return all.String()
	}
	got := shipped("here")
	for _, secret := range []string{"hunter2", "swordfish99", "oystercatcher7", "albatross8"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is not masked: %s", secret, got)
		}
	}
	if !strings.Contains(got, `"labels":{"host":"here"}`) || strings.Contains(got, `"masked"`) || !strings.Contains(got, `"nightly"`) {
		t.Errorf("the header: %s", got)
	}
	if shipped("here") != got {
		t.Error("it is masked in another way the second time")
	}
	header.Labels = map[string]string{"host": "mine"}
	if got := shipped("here"); !strings.Contains(got, `"labels":{"host":"mine"}`) {
		t.Errorf("a label of its own: %s", got)
	}
	m.Patterns = []string{"x*"}
	if _, err := m.masker(key, "", header); err == nil {
		t.Error("a pattern that matches nothing at all is taken")
	}
}

// TestWants: which sessions a pull brings.
func TestWants(t *testing.T) {
	at := func(age time.Duration, live bool, stuck time.Duration) *stream.Entry {
		return &stream.Entry{Header: store.Header{Start: time.Now().Add(-age), Label: "nightly", Labels: map[string]string{"env": "ci"}},
			Live: live, LiveUntil: time.Now().Add(time.Minute), Stuck: stuck}
	}
	dead := at(0, true, time.Hour)
	dead.LiveUntil = time.Now()
	for name, c := range map[string]struct {
		filters filters
		entry   *stream.Entry
		want    bool
	}{
		"anything":                {filters{}, at(time.Hour, false, 0), true},
		"old":                     {filters{age: time.Minute}, at(time.Hour, false, 0), false},
		"old and live":            {filters{age: time.Minute}, at(time.Hour, true, 0), true},
		"live":                    {filters{live: true}, at(0, true, 0), true},
		"ended":                   {filters{live: true}, at(0, false, 0), false},
		"stuck":                   {filters{stuck: true}, at(0, true, time.Second), true},
		"live, not stuck":         {filters{stuck: true}, at(0, true, 0), false},
		"stuck, silent for long":  {filters{stuck: true}, dead, false},
		"a label":                 {filters{labels: []string{"nightly"}}, at(0, false, 0), true},
		"a name and a value":      {filters{labels: []string{"nightly", "env=ci"}}, at(0, false, 0), true},
		"another value":           {filters{labels: []string{"env=prod"}}, at(0, false, 0), false},
		"a name without a value":  {filters{labels: []string{"env"}}, at(0, false, 0), false},
		"a name that it has not":  {filters{labels: []string{"team="}}, at(0, false, 0), false},
		"one label of two is not": {filters{labels: []string{"nightly", "weekly"}}, at(0, false, 0), false},
	} {
		if got := c.filters.wants(c.entry); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPlain: labels of others cannot control a terminal.
func TestPlain(t *testing.T) {
	if got := plain("a\x1b[2Jb\r\nc\u202ed"); got != "a?[2Jb; c?d" {
		t.Errorf("%q", got)
	}
}
