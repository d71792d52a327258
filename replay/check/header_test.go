package check

import (
	"encoding/base64"
	"strings"
	"testing"
)

// FuzzHeader: a header's value stands for itself, or for what base64 says.
func FuzzHeader(f *testing.F) {
	f.Add("echo")
	f.Add("=?base64?w6Q=?=")
	f.Add("=?base64??=")
	f.Add("=?base64?=")
	f.Fuzz(func(t *testing.T, value string) {
		decoded, ok := decodeHeader(value)
		if !strings.HasPrefix(value, "=?base64?") && (!ok || decoded != value) {
			t.Errorf("%q stands for %q, %v", value, decoded, ok)
		}
		if again, ok := decodeHeader("=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="); !ok || again != value {
			t.Errorf("%q comes back as %q, %v", value, again, ok)
		}
	})
}
