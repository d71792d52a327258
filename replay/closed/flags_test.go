package closed

import (
	"strings"
	"testing"
)

// TestModelsFlags: the flags name each end that is not free, as ParseEnd reads it.
func TestModelsFlags(t *testing.T) {
	for words, want := range map[string]string{
		"free free 0": "", "inbox:2 free 0": "--client inbox:2", "free serial 0": "--server serial",
		"python-sdk@1.3 inline 0": "--client python-sdk@1.3 --server inline",
	} {
		s := setup(t, words)
		if got := strings.Join(Models{Client: s.Client, Server: s.Server}.Flags(), " "); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
