package boltstore

import (
	"fmt"
	"os"
	"testing"
)

// torture is whether the long forms of the tests are wanted: make torture.
var torture = os.Getenv("MCPREC_TORTURE") != ""

// tell adds a line to the table of make torture, which is in the file that
// MCPREC_TORTURE names. A test that fails has none.
func tell(t *testing.T, fault string, tried int, what string) {
	t.Helper()
	if tried == 0 {
		t.Fatalf("%s: nothing was tried", fault)
	}
	if !torture || t.Failed() {
		return
	}
	f, err := os.OpenFile(os.Getenv("MCPREC_TORTURE"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s|%d|%d|%s\n", fault, tried, tried, what)
		_ = f.Close()
	}
	if err != nil {
		t.Error(err)
	}
}
