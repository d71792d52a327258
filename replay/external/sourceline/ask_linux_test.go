package sourceline

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

// TestMain makes the test binary a server in Go.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		serve()
	}
	os.Exit(m.Run())
}

// serve answers nothing: each line waits on a goroutine of its own.
func serve() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		go hold(lines.Text(), make(chan int))
	}
}

func hold(text string, done chan int) {
	fmt.Println(text)
	<-done
}

// TestAsk: a program of each language names the line that holds a request, one in Node the line that keeps it alive, and one
// in Node or Python the line that wrote something, in folders with blanks, and is as it was with an option of its user's.
func TestAsk(t *testing.T) {
	for _, test := range []struct {
		name    string
		command []string
		program string // of testdata
		want    []string
		alive   string // the first line that keeps it so, as far as the language tells
		wrote   string // what wrote the line of its request
	}{
		{"node", []string{"node", "--expose-gc"}, "server.mjs", []string{
			"tools/call (id 3) is held at server.mjs:12 (ask), called from server.mjs:16 (tool); it waits for the answer to its own sampling/createMessage (id 100)",
			"tools/slow (id 4) is held at server.mjs:26 (helper), called from server.mjs:21 (slow)",
			"tools/locked (id 5) is held at server.mjs:32 (locked)",
		}, "kept alive by a timer, made at server.mjs:44 (keep), called from server.mjs:48", "written at server.mjs:5 (out), called from server.mjs:10 (ask), from server.mjs:16 (tool)"},
		{"python", []string{"python3"}, "server.py", []string{
			"tools/call (id 3) is held at server.py:17 (ask), called from server.py:21 (tool); it waits for the answer to its own sampling/createMessage (id 100)",
			"tools/slow (id 4) is held at server.py:31 (helper), called from server.py:26 (slow)",
			"tools/locked (id 5) is held at server.py:40 (locked)",
		}, "", "written at server.py:11 (out), called from server.py:16 (ask), from server.py:21 (tool)"},
		{"go", []string{os.Args[0], "serve"}, "", []string{
			"held at ask_linux_test.go:35 (sourceline.hold), chan receive",
		}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.command[0]); err != nil {
				t.Skip(test.command[0] + " is not here")
			}
			folder := filepath.Join(t.TempDir(), "my cöde")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			means, err := Prepare(folder)
			if err != nil {
				t.Fatal(err)
			}
			if test.program != "" {
				test.command = append(test.command, filepath.Join("testdata", test.program))
			}
			answer, wrote, said := asked(t, means, exec.Command(test.command[0], test.command[1:]...))
			if got := answer.Words(3); strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n  %s\nwant\n  %s\nstandard error\n%s", strings.Join(got, "\n  "), strings.Join(test.want, "\n  "), said)
			}
			if wrote != test.wrote {
				t.Errorf("got %q, want %q", wrote, test.wrote)
			}
			if got := answer.Alive(1); test.alive != "" && strings.Join(got, "") != test.alive || test.alive == "" && got[0] != test.want[0] {
				t.Errorf("kept alive: got %q, want %q", got, test.alive)
			}
		})
	}
}

// asked starts a server, gives it three requests, and asks it when it has taken them all: also what wrote its request.
func asked(t *testing.T, means *Means, server *exec.Cmd) (answer Answer, wrote string, said []byte) {
	t.Helper()
	errors, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer errors.Close()
	server.Stderr = errors
	lines := start(t, means, server,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/slow"}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/locked"}`)
	request := ""
	for range 3 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "sampling/createMessage") {
			request = strings.TrimSpace(line)
		}
	}
	watcher, err := procfs.Watch(server.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	for watcher.Look().Activity == procfs.Busy {
		time.Sleep(time.Millisecond)
	}
	stderr := func() []byte {
		said, _ = os.ReadFile(errors.Name())
		return said
	}
	where, err := means.Wrote(server.Process.Pid, []byte(request))
	if err != nil {
		t.Error(err)
	}
	answer, err = means.Ask(server.Process.Pid, stderr)
	if err != nil {
		t.Error(err)
	}
	return answer, strings.Join(where, "\n"), stderr()
}

// start starts a server that can be asked, for the time of the test, and gives it requests in one write. It returns what the
// server says.
func start(t *testing.T, means *Means, server *exec.Cmd, requests ...string) *bufio.Reader {
	t.Helper()
	server.Env = means.Environ(append(os.Environ(), "NODE_OPTIONS=--no-deprecation"))
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _, _ = io.Copy(io.Discard, out); _ = server.Wait() })
	fmt.Fprintln(in, strings.Join(requests, "\n"))
	return bufio.NewReader(out)
}

// TestMet: two calls that were under way together are told by what they did to a file, or else by where one waited while the
// other went on.
func TestMet(t *testing.T) {
	for _, test := range []struct {
		command, program, method string
		want                     []string
	}{
		{"node", "race.mjs", "add", []string{
			"add (id one) read a.txt at race.mjs:13 (add), called from race.mjs:29",
			"then add (id other) wrote it at race.mjs:19 (store), called from race.mjs:16 (add), from race.mjs:29",
			"then add (id one) wrote it at race.mjs:19 (store), called from race.mjs:16 (add), from race.mjs:29",
		}},
		{"node", "race.mjs", "count", []string{"count (id one) waited at race.mjs:23 (count), called from race.mjs:29, while count (id other) went on"}},
		{"python3", "race.py", "add", []string{
			"add (id one) read a.txt at race.py:10 (add), called from race.py:23 (handle), from race.py:36 (<module>)",
			"then add (id other) wrote it at race.py:17 (store), called from race.py:13 (add), from race.py:23 (handle)",
			"then add (id one) wrote it at race.py:17 (store), called from race.py:13 (add), from race.py:23 (handle)",
		}},
	} {
		t.Run(test.command+"/"+test.method, func(t *testing.T) {
			if _, err := exec.LookPath(test.command); err != nil {
				t.Skip(test.command + " is not here")
			}
			means, err := Prepare(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "a.txt")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			server := exec.Command(test.command, filepath.Join("testdata", test.program), file)
			said := start(t, means, server,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":%q}`, test.method), fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":%q}`, test.method))
			for range 2 {
				if _, err := said.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			got, err := means.Met(server.Process.Pid, 3)
			one, other := "id 3", "id 4" // the first that is told: the disk may be quicker with either
			if len(got) > 0 && strings.Contains(got[0], other+") read") {
				one, other = other, one
			}
			for i := range got {
				got[i] = strings.NewReplacer(one, "id one", other, "id other").Replace(got[i])
			}
			if err != nil || strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("%v, got\n  %s\nwant\n  %s", err, strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
			}
		})
	}
}

// TestPreloadKeepsWrite: what Node keeps beside fs.write is there in a program that is asked: util.promisify has a form for it.
func TestPreloadKeepsWrite(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not here")
	}
	means, err := Prepare(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const program = `require('util').promisify(require('fs').write)(1, 'x').then(written => console.log(written.bytesWritten))`
	cmd := exec.Command("node", "-e", program)
	cmd.Env = means.Environ(os.Environ())
	if out, err := cmd.Output(); err != nil || string(out) != "x1\n" {
		t.Errorf("%v, it printed %q", err, out)
	}
}
