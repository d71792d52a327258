//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/store/storetest"
)

// often returns how often a test kills: little, or much in make night.
func often(little, much int) int {
	if storetest.Night() {
		return much
	}
	return soak(little, much)
}

// dying is a reader that kills its process after n reads, while that goes on.
type dying struct {
	io.Reader
	n int
}

func (d *dying) Read(b []byte) (int, error) {
	if d.n--; d.n == 0 {
		go syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return d.Reader.Read(b)
}

// mortalClient is a client that records its server, says after each response
// that it has seen it, and is killed after n of them, while it goes on.
func mortalClient() {
	n, _ := strconv.Atoi(os.Args[2])
	cmd := exec.Command("mcprec", "record", "--store", os.Args[1], "--", "fakeserver", "echo")
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := cmd.Start(); err1 != nil || err2 != nil || err != nil {
		fmt.Fprintln(os.Stderr, err1, err2, err)
		os.Exit(1)
	}
	lines := bufio.NewReader(&dying{Reader: out, n: n})
	for i := 1; ; i++ {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
		if _, err := lines.ReadString('\n'); err != nil {
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// logged holds that what was seen in round is in its log, and every log is valid.
func logged(t *testing.T, home string, round, seen int) {
	t.Helper()
	logs := sessions(t, home)
	if len(logs) != round+1 {
		t.Fatalf("round %d: %d sessions", round, len(logs))
	}
	if got := checkPings(t, logs[round]); got < seen {
		t.Errorf("round %d: %d responses were seen, the recording has %d", round, seen, got)
	}
}

// A recorder that is killed at a random moment, also while it ends, has written
// down all that the client saw.
func TestKilledRecorder(t *testing.T) {
	home := t.TempDir()
	rounds := often(10, 300)
	rng := rand.New(rand.NewPCG(3, uint64(rounds)))
	for round := range rounds {
		c := startClient(t, home, "fakeserver", "echo")
		if err := c.ping(1); err != nil {
			t.Fatal(err)
		}
		killAt, seen, ending := 2+rng.IntN(400), 1, rng.IntN(4) == 0
		for i := 2; !ending || i < killAt; i++ {
			if i == killAt {
				go c.cmd.Process.Kill() // while pings go on
			}
			if c.ping(i) != nil {
				break
			}
			seen = i
		}
		c.in.Close()
		if ending {
			for range rng.IntN(20_000) { // somewhere on its way
				runtime.Gosched()
			}
			c.cmd.Process.Kill()
		}
		c.cmd.Wait()
		logged(t, home, round, seen)
	}
	mcprec(t, "store", "verify", "--store", home)
	if out := mcprec(t, "list", "--store", home); strings.Count(out, " cut short ")+strings.Count(out, " closed ") != rounds {
		t.Errorf("list:\n%s", out)
	}
	storetest.Tell(t, "kill -9 of the recorder", rounds, "every message that the client saw is recorded; every session verifies")
}

// A server that is killed ends its session, which is whole.
func TestKilledServer(t *testing.T) {
	home := t.TempDir()
	rounds := often(4, 100)
	rng := rand.New(rand.NewPCG(4, uint64(rounds)))
	for round := range rounds {
		c := startClient(t, home, "fakeserver", "mortal", fmt.Sprint(1+rng.IntN(200)))
		seen := 0
		for c.ping(seen+1) == nil {
			seen++
		}
		c.in.Close()
		c.cmd.Wait()
		logged(t, home, round, seen)
	}
	mcprec(t, "store", "verify", "--store", home)
	// The state says «killed» only if the kill cost an answer: of a ping that the recorder never saw, none was due.
	killed := regexp.MustCompile(` closed(, killed)? +killed +fakeserver`)
	if out := mcprec(t, "list", "-n", "0", "--store", home); len(killed.FindAllString(out, -1)) != rounds {
		t.Errorf("list:\n%s", out)
	}
	storetest.Tell(t, "kill -9 of the server", rounds, "every session is whole and closed, with how the server ended")
}

// A client that is killed leaves a session that is whole.
func TestKilledClient(t *testing.T) {
	home := t.TempDir()
	rounds := often(4, 100)
	rng := rand.New(rand.NewPCG(5, uint64(rounds)))
	for round := range rounds {
		alive, hold, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("mortalclient", home, fmt.Sprint(2+rng.IntN(200)))
		cmd.Stderr = hold // which the recorder holds as well
		out, _ := cmd.Output()
		hold.Close()
		if said, err := io.ReadAll(alive); err != nil || len(said) > 0 {
			t.Errorf("round %d: %s, %v", round, said, err)
		}
		alive.Close()
		logged(t, home, round, strings.Count(string(out), "\n"))
	}
	mcprec(t, "store", "verify", "--store", home)
	if out := mcprec(t, "list", "--store", home); strings.Count(out, " closed ") != rounds {
		t.Errorf("list:\n%s", out)
	}
	storetest.Tell(t, "kill -9 of the client", rounds, "every session is whole and closed")
}
