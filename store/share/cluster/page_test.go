package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// page is the page about sharing, whose commands and configuration are tested here.
const page = "docs/shared-store.md"

// block is a fenced block of the page. Its first line is "```", a kind, and a name: "sh shell=1" is run
// as a script in the first shell, "console shell=3" has commands behind "$ " and what they print.
type block struct {
	kind, name, text string
	line             int // of its first line of text
}

// blocks returns the page's fenced blocks of these kinds.
func blocks(t *testing.T, kinds ...string) (found []block) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for i, line := range strings.Split(string(data), "\n") {
		info, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !inside:
			kind, name, _ := strings.Cut(info, " ")
			found = append(found, block{kind: kind, name: name, line: i + 2})
			inside = true
		case isFence:
			inside = false
		case inside:
			found[len(found)-1].text += line + "\n"
		}
	}
	var wanted []block
	for _, b := range found {
		for _, kind := range kinds {
			if b.kind == kind {
				wanted = append(wanted, b)
			}
		}
	}
	if len(wanted) == 0 {
		t.Fatalf("%s has no block of the kinds %q", page, kinds)
	}
	return wanted
}

// prefixes are the numbers that freePrefix has returned: their ports are free until somebody listens.
var prefixes sync.Map

// freePrefix returns a number to which 1, 2 and 3 are appended to get free ports of an address. It returns
// no number twice.
func freePrefix(t *testing.T, host string) string {
	t.Helper()
	for range 1000 {
		prefix := 1000 + rand.IntN(2200)
		_, taken := prefixes.LoadOrStore(prefix, true)
		free := !taken
		for n := 1; n <= 3 && free; n++ {
			listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d%d", host, prefix, n))
			free = err == nil
			if free {
				_ = listener.Close()
			}
		}
		if free {
			return fmt.Sprint(prefix)
		}
	}
	t.Fatal("no free ports")
	return ""
}

// TestFreePrefix holds that no two nodes get the same ports, though nobody listens there yet.
func TestFreePrefix(t *testing.T) {
	seen := map[string]bool{}
	for range 300 {
		prefix := freePrefix(t, "127.0.0.1")
		if seen[prefix] {
			t.Fatalf("%s was returned twice", prefix)
		}
		seen[prefix] = true
	}
}
