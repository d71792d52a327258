package closed

import (
	"strings"
	"testing"
)

// TestModelsFlags: the flags name each end that is not free, as ParseEnd reads it.
func TestModelsFlags(t *testing.T) {
	for words, want := range map[string]string{
		"independent independent 0": "", "notification-queue=2 independent 0": "--client notification-queue=2", "independent blocking-handlers 0": "--server blocking-handlers",
		"python-sdk@1.3 answers-inline 0": "--client python-sdk@1.3 --server answers-inline",
	} {
		s := setup(t, words)
		if got := strings.Join(Models{Client: s.Client, Server: s.Server}.Flags(), " "); got != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
