package closed

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// TestSerialLive runs a server as mcp-go v1.1.0 has it, one goroutine that reads and
// calls the handler, and no script: the serial model says the same. The handler may
// ask for the roots, and may not come to its end; notifications follow the call.
func TestSerialLive(t *testing.T) {
	for _, asks := range []bool{false, true} {
		for _, ends := range []bool{false, true} {
			for n := range 4 {
				for _, capacity := range []Room{0, 1, 2, 10} {
					r := load(t, serialLines(asks, ends, n))
					want := Replay(r, Setup{Capacity: Capacity{capacity, capacity}, Server: BlockingHandlers}).Verdict
					got := Hang
					synctest.Test(t, func(*testing.T) {
						if serialLive(asks, ends, n, int(capacity)) {
							got = Pass
						}
					})
					if got != want {
						t.Errorf("asks %v, ends %v, %d notifications, buffer %v: live %s, replay %s", asks, ends, n, capacity, got, want)
					}
				}
			}
		}
	}
}

func serialLines(asks, ends bool, n int) string {
	lines := "> 1:call\n"
	if asks {
		lines += "< 1:roots/list\n> 1=\n"
	}
	lines += strings.Repeat("> ~message\n", n)
	if ends {
		lines += "< 1="
	}
	return lines
}

// serialLive reports whether the client has said all, and each heard what it waits
// for.
func serialLive(asks, ends bool, n, capacity int) bool {
	l := words{stop: make(chan struct{})}
	c2s, s2c := make(chan string, capacity), make(chan string, capacity)
	said, heard, roots := make(chan string, 1), make(chan string, 1), make(chan string, 1)
	rooted := make(chan string, 1)
	go l.serve(c2s, s2c, roots, rooted, asks, ends)
	asked := make(chan string, 1)
	go func() { // the client's reader
		for word := l.read(s2c); word != ""; word = l.read(s2c) {
			if word == "result" {
				heard <- word
			} else {
				asked <- word
			}
		}
	}()
	go func() { // the client's writer
		list := []string{"call"}
		if asks {
			l.send(c2s, "call")
			list = []string{l.read(asked)}
		}
		for i := range n {
			list = append(list, fmt.Sprint("message ", i))
		}
		if l.send(c2s, list...) {
			said <- "all"
		}
	}()
	synctest.Wait()
	passed := len(said) == 1 && (!ends || len(heard) == 1) && (!asks || len(rooted) == 1)
	close(l.stop)
	synctest.Wait()
	return passed
}

// words go over channels until they are stopped.
type words struct{ stop chan struct{} }

func (l words) send(to chan string, list ...string) bool {
	for _, w := range list {
		select {
		case to <- w:
		case <-l.stop:
			return false
		}
	}
	return true
}

func (l words) read(from chan string) (word string) {
	select {
	case word = <-from:
	case <-l.stop:
	}
	return word
}

// serve is the server: one goroutine reads, and calls the handler.
func (l words) serve(in, out, roots, rooted chan string, asks, ends bool) {
	for word := l.read(in); word != ""; word = l.read(in) {
		switch word {
		case "call":
			if asks {
				l.send(out, "roots/list")
				rooted <- l.read(roots)
			}
			if !ends {
				<-l.stop
			}
			l.send(out, "result")
		case "roots/list": // the answer to it
			roots <- word
		}
	}
}
