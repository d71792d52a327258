//go:build unix

package main

import (
	"strings"
	"testing"
)

// The demo is the main job end to end: two real peers, each a process,
// with a recorder between them, and the seed's bug.
func TestDemo(t *testing.T) {
	out := mcprec(t, "demo")
	for _, want := range []string{
		`client: the tool said "12 letters"`, "tools/call", "notifications/progress",
		"with --store DIR it stays", "PASS", "HANG (proved) blocked behind a notification", "no buffer of the transport hides it",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q:\n%s", want, out)
		}
	}
}
