package boltstore

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// torture is whether the long forms of the tests are wanted: make torture.
var torture = os.Getenv("MCPREC_TORTURE") != ""

// tell prints a line of the table that make torture makes.
func tell(t *testing.T, fault string, tried int, what string) {
	t.Helper()
	if tried == 0 {
		t.Fatalf("%s: nothing was tried", fault)
	}
	if torture && !t.Failed() {
		fmt.Println("torture |", fault, "|", strconv.Itoa(tried), "|", strconv.Itoa(tried), "|", what)
	}
}
