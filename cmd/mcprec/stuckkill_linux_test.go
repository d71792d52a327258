package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store/storetest"
)

// A recorder that is killed while its disk is stuck takes with it what waits in its
// memory: what is there is an unbroken beginning, and nothing says that it is all.
func TestKilledWhileStuck(t *testing.T) {
	home, freeze, thaw := freezable(t)
	c := startClient(t, home, "fakeserver", "echo")
	ping := func(n int) {
		if err := c.ping(n); err != nil {
			t.Error(err)
		}
	}
	for n := range 100 {
		ping(n + 1)
	}
	freeze()
	for n := range 100 {
		ping(n + 101)
	}
	err := c.cmd.Process.Kill()
	thaw()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	if got := checkPings(t, sessions(t, home)[0]); got < 100 || got >= 200 {
		t.Errorf("%d responses are recorded", got)
	}
	said, err := exec.Command("mcprec", "show", "--store", home).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "frames that waited for a slow disk then are missing") {
		t.Errorf("show: %v: %s", err, said)
	}
	for _, args := range [][]string{{"verify"}, {"list", "--format", "json"}} {
		said := mcprec(t, append(args, "--store", home)...)
		if !strings.Contains(said, "frames that waited for a slow disk then are missing") && !strings.Contains(said, `"state":"crashed"`) {
			t.Errorf("%s: %s", args, said)
		}
	}
	storetest.Tell(t, "kill -9 while frames wait in memory for a stuck disk", 1, "an unbroken beginning, never said to be all")
}
