package storetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Torture is whether the long forms of the tests are wanted: make torture.
func Torture() bool { return os.Getenv("MCPREC_TORTURE") != "" }

// Tell adds a line to the table of make torture, which is in the file that
// MCPREC_TORTURE names by its whole path: a fault, how often it was tried, and what became
// of it. A test that has failed has no line.
func Tell(t testing.TB, fault string, tried int, what string) {
	t.Helper()
	if tried == 0 {
		t.Fatalf("%s: nothing was tried", fault)
	}
	if !Torture() || t.Failed() {
		return
	}
	if !filepath.IsAbs(os.Getenv("MCPREC_TORTURE")) {
		t.Fatalf("MCPREC_TORTURE is %q, no whole path: each package would write into its own folder", os.Getenv("MCPREC_TORTURE"))
	}
	f, err := os.OpenFile(os.Getenv("MCPREC_TORTURE"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = fmt.Fprintf(f, "%s|%d|%d|%s\n", fault, tried, tried, what); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
