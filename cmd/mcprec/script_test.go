//go:build unix

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	// Many tests wait for what processes of theirs do. The flag of go test still has the last word.
	_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	testscript.Main(m, map[string]func(){
		"mcprec":       clockedMain,
		"fakeserver":   fakeServer,
		"fakeremote":   fakeRemote,
		"hangserver":   hangServer,
		"serving":      serving,
		"saying":       saying,
		"looking":      looking,
		"asking":       asking,
		"jsonscan":     jsonScan,
		"mortalclient": mortalClient,
		"floorpass":    floorPass,
		"floorwrite":   floorWrite,
		"stuckserver":  stuckServer,
		"asclient":     asClient,
		"planter":      planter,
		"threadserver": threadServer,
		"asproxy":      asProxy,
	})
}

// TestScript runs testdata/script/*.txtar; see the README there.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			root, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			// The links keep the clone's path out of what the scripts compare: it may have a blank.
			for name, folder := range map[string]string{"FIXTURES": "fixtures", "HTTP": "replay/standin/testdata/http", "EXAMPLES": "examples", "ACTION": ".github"} {
				link := filepath.Join(env.WorkDir, ".links", strings.ToLower(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink(filepath.Join(root, folder), link)); err != nil {
					return err
				}
				env.Setenv(name, link)
			}
			env.Setenv("MCPREC_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			if strings.Contains(env.WorkDir, " ") {
				env.Setenv("Q", "'") // around each path that is printed for a shell
			}
			// Under the race detector a process sleeps a second at its end, and drive
			// does not wait that long for each server.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"bytes": writeBytes,
		},
	})
}

// exits N COMMAND... runs a command that must end with exit status N, or with
// -1 by a signal.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if want, _ := strconv.Atoi(args[0]); got != want {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// bytes FILE STRING writes a file from a Go string literal's inside, for what a
// txtar cannot hold: no final newline, invalid UTF-8, carriage returns.
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes FILE STRING")
	}
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(s), 0o600))
}

// serving runs a server that prints its URL, then a client that is given it, and
// interrupts the server. It exits as the client did, and if that was well as the
// server:
//
//	serving SERVER [ARG]... -- CLIENT [ARG]...
//
// {URL} in the client's arguments is the URL; {{URL}} is {URL}, for a client that is a
// serving itself.
func serving() {
	dash := slices.Index(os.Args, "--")
	server := exec.Command(os.Args[1], os.Args[2:dash]...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		panic(err)
	}
	url, _ := bufio.NewReader(out).ReadString('\n')
	words := slices.Clone(os.Args[dash+1:])
	for i := range words {
		words[i] = strings.NewReplacer("{{URL}}", "{URL}", "{URL}", strings.TrimSpace(url)).Replace(words[i])
	}
	client := exec.Command(words[0], words[1:]...)
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	asked := client.Run()
	_ = server.Process.Signal(os.Interrupt)
	var exit *exec.ExitError
	if served := server.Wait(); errors.As(asked, &exit) || errors.As(served, &exit) {
		os.Exit(exit.ExitCode())
	} else if err := errors.Join(asked, served); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// looking opens the page at the address of mcprec view, as a browser does, and prints the answers
// to the paths below /api/:
//
//	looking URL PATH...
func looking() {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err)
	}
	browser := &http.Client{Jar: jar}
	page := os.Args[1]
	base, _, _ := strings.Cut(page, "?")
	paths := append([]string{page, base}, os.Args[2:]...) // what the address shows leads to the page
	for i, path := range paths {
		if i > 1 {
			path = base + "api/" + path
		}
		answer, err := browser.Get(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%d ", answer.StatusCode)
		_, err = io.Copy(os.Stdout, answer.Body)
		fmt.Println()
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// saying makes one HTTP request and prints the answer; see remoteSay:
//
//	saying METHOD URL SESSION BODY [HEADER VALUE]
func saying() { remoteSay(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:]...) }

// TestNothingByChance holds that no script wants a word to be absent that a time, an id or a hash may have: 4711 stood
// in the nanoseconds of a session once.
func TestNothingByChance(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		script, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for line := range strings.Lines(string(script)) {
			number++
			command, pattern, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "! ")), " ")
			if !strings.HasPrefix(line, "! ") || !slices.Contains([]string{"grep", "stdout", "stderr"}, command) {
				continue
			}
			if quoted, isQuoted := strings.CutPrefix(pattern, "'"); isQuoted {
				pattern, _, _ = strings.Cut(quoted, "'")
			} else {
				pattern, _, _ = strings.Cut(pattern, " ")
			}
			for word := range strings.SplitSeq(pattern, "|") {
				if word != "" && len(word) < 8 && strings.Trim(word, "0123456789abcdef") == "" {
					t.Errorf("%s:%d: %q may come by chance: look for what stands beside it", path, number, word)
				}
			}
		}
	}
}
