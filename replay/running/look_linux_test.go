//go:build amd64 || arm64

package running

import (
	"os/exec"
	"testing"
)

// BenchmarkLook finds the servers among the processes of this machine and a hundred more, each with a pipe as its input
// and as its output, and looks at each of these.
func BenchmarkLook(b *testing.B) {
	pids := map[int]bool{}
	for range 100 {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cmd.StdoutPipe(); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		pids[cmd.Process.Pid] = true
		b.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	}
	for b.Loop() {
		t, err := Look()
		if err != nil {
			b.Fatal(err)
		}
		looks := 0
		for _, group := range t.groups() {
			if pids[group[0]] {
				i := t.instanceOf(group)
				_ = t.know(&i, Known{})
				_ = t.See(i, 0)
				looks++
			}
		}
		if looks != len(pids) {
			b.Fatalf("%d are looked at", looks)
		}
	}
}
