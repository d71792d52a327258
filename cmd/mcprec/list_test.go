//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
)

// TestListStuck holds that list says which live sessions are stuck and for how long, and that
// --stuck keeps these, and so does --hung.
func TestListStuck(t *testing.T) {
	home := t.TempDir()
	db, err := boltstore.Open(home, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	start := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)
	for n, answer := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`} {
		text := fmt.Sprintf(`{"mcprec":1,"id":"0190aaaa-0000-7000-8000-00000000000%d","start":"%s","transport":"stdio"}
{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}
{"at":"2ms","dir":"s2c","frame":%s}
`, n, start, answer)
		var spool store.Spool
		for e, err := range jsonl.Decode(strings.NewReader(text)) {
			switch {
			case err == nil && spool == nil:
				spool, err = db.Spool(t.Context(), e)
			case err == nil:
				err = spool.Write([]store.Part{{Event: e}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		defer spool.Close()
	}
	stuck := regexp.MustCompile(`^\S+-8000-000000000001 .*  live, stuck 1h0m\d+s `)
	for _, args := range []string{"", "--stuck", "--hung", "--stuck -n 1"} {
		lines := strings.Split(mcprec(t, append([]string{"list", "--store", home}, strings.Fields(args)...)...), "\n")[1:]
		found := 0
		for _, line := range lines {
			if stuck.MatchString(line) {
				found++
			} else if args != "" && line != "" || strings.Contains(line, "stuck") {
				t.Errorf("list %s says of a session that is not stuck: %s", args, line)
			}
		}
		if found != 1 {
			t.Errorf("list %s:\n%s", args, strings.Join(lines, "\n"))
		}
	}
	if out := mcprec(t, "list", "--store", home, "--format", "json"); strings.Count(out, `"stuck_ns":3`) != 1 {
		t.Errorf("list --format json:\n%s", out)
	}
}
