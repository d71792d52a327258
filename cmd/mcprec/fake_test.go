//go:build unix

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/transport"
)

// standStill never returns. A program without C that only has goroutines in an empty select ends at once:
// Go calls that a deadlock.
func standStill() {
	for {
		time.Sleep(time.Hour)
	}
}

// fakeServer is an MCP server for scripts:
//
//	fakeserver echo        answers requests; a tool call with a progress token
//	                       is answered by two progress notifications and a result
//	fakeserver cat FILE    writes FILE's bytes at once, then reads to the end
//	fakeserver stderr TEXT writes TEXT to standard error, then echoes
//	fakeserver exit N      reads to the end and exits N
//	fakeserver signal N    reads to the end and dies of signal N
//	fakeserver flood N     sends N notifications as fast as it can
//	fakeserver asked       says which signal it got and exits 9
//	fakeserver launcher M  leaves its streams to another fakeserver M and exits
//	fakeserver leaves HOW  starts a process that holds its output until killed, says that
//	                       one's pid, and ends; see leave
//	fakeserver burst N     writes N bytes and a newline and exits 6 at once
//	fakeserver takes N     reads N bytes, and then no more until killed
//	fakeserver half        writes half a line, waits for a line, writes the rest
func fakeServer() {
	arg := ""
	if len(os.Args) > 2 {
		arg = os.Args[2]
	}
	n, _ := strconv.Atoi(arg)
	switch os.Args[1] {
	case "echo":
		echo(os.Stdin, os.Stdout)
	case "mortal":
		echo(&dying{Reader: os.Stdin, n: n}, os.Stdout)
	case "cat":
		b, err := os.ReadFile(arg)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.Write(b)
		io.Copy(io.Discard, os.Stdin)
	case "stderr":
		io.WriteString(os.Stderr, arg)
		echo(os.Stdin, os.Stdout)
	case "exit":
		io.Copy(io.Discard, os.Stdin)
		os.Exit(n)
	case "signal":
		io.Copy(io.Discard, os.Stdin)
		cli.DieOf(syscall.Signal(n))
	case "flood":
		flood(n)
	case "asked":
		asked()
	case "launcher":
		launch(arg)
	case "hold": // until killed
		fmt.Fprintln(os.Stderr, os.Getpid())
		standStill()
	case "leaves":
		leave(arg)
	case "sit":
		standStill()
	case "takes":
		io.CopyN(io.Discard, os.Stdin, int64(n))
		standStill()
	case "chatter":
		signal.Ignore(syscall.SIGPIPE) // it lives on when nobody reads any more
		for {
			if _, err := fmt.Println(arg); err != nil {
				standStill()
			}
		}
	case "burst":
		os.Stdout.Write(append(bytes.Repeat([]byte("x"), n), '\n'))
		os.Exit(6)
	case "half":
		halfALine()
	}
}

func asked() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGINT)
	fmt.Println("ready")
	fmt.Println(<-signals)
	os.Exit(9)
}

func launch(mode string) {
	c := exec.Command(os.Args[0], mode)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if mode == "hold" { // standard error only
		c.Stdin, c.Stdout = nil, nil
	}
	if err := c.Start(); err != nil {
		panic(err)
	}
}

// leave starts a process that holds this one's output: one that says nothing, or one that
// never stops (HOW "chatter"). Then it waits for a signal ("wait", "chatter"), or writes
// leftBytes and exits with 7: at once ("exit", "input"), or once it is asked to terminate
// ("farewell"). The other process holds its input too, but for "exit".
func leave(how string) {
	c := exec.Command(os.Args[0], "sit")
	if how == "chatter" {
		c.Args = []string{os.Args[0], "chatter", `{"jsonrpc":"2.0","method":"chatter"}`}
	}
	if c.Stdout, c.Stderr = os.Stdout, os.Stderr; how != "exit" {
		c.Stdin = os.Stdin
	}
	asked := make(chan os.Signal, 1)
	if how == "farewell" {
		signal.Notify(asked, syscall.SIGTERM)
	}
	fmt.Fprintln(os.Stdout, "ready") // before any chatter
	if err := c.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, c.Process.Pid)
	switch how {
	case "wait", "chatter":
		standStill()
	case "farewell":
		<-asked
	}
	os.Stdout.Write(append(bytes.Repeat([]byte("x"), leftBytes), '\n'))
	fmt.Fprintln(os.Stderr, "goodbye")
	os.Exit(7)
}

// leftBytes is more than is on its way to a client that does not read.
const leftBytes = 300_000

func halfALine() {
	os.Stdout.WriteString(`{"jsonrpc":"2.0",`)
	in := bufio.NewReader(os.Stdin)
	in.ReadString('\n')
	os.Stdout.WriteString("\"method\":\"x\"}\n")
	io.Copy(io.Discard, in)
}

// echo answers each request with its own params as the result.
func echo(in io.Reader, out io.Writer) {
	r := transport.NewFrameReader(in)
	for {
		f, err := r.Read()
		if err != nil {
			return
		}
		messages, _ := f.Messages()
		for _, m := range messages {
			if m.Kind() != transport.Request {
				continue
			}
			if token := m.ProgressToken(); token != nil {
				for i := 1; i <= 2; i++ {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":2}}`+"\n", token, i)
				}
			}
			params := m.Params
			if params == nil {
				params = json.RawMessage("{}")
			}
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, params)
		}
	}
}

func flood(n int) {
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	for i := range n {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%0120d"}}`+"\n", i)
	}
	w.Flush()
	io.Copy(io.Discard, os.Stdin)
}

// planter is a client: it starts a server, shakes hands with it, says which process it is, and lives until it is killed.
//
//	planter COMMAND [ARG]...
func planter() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		panic(err)
	}
	fmt.Println(cmd.Process.Pid)
	standStill()
}

// threadServer answers each request by one of eight threads.
func threadServer() {
	lines := make(chan string)
	var write sync.Mutex
	var threads sync.WaitGroup
	for range 8 {
		threads.Go(func() {
			runtime.LockOSThread()
			for line := range lines {
				var m struct{ ID int }
				_ = json.Unmarshal([]byte(line), &m)
				write.Lock()
				fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"text":%q}}`+"\n", m.ID, line)
				write.Unlock()
			}
		})
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		lines <- in.Text()
	}
	close(lines)
	threads.Wait()
}

// asProxy writes a release of a Go module into a folder that GOPROXY can name:
//
//	asproxy PROXY MODULE VERSION DATE FILE...
//
// The first folder of a FILE is not in the module. A file go.mod is that of the module.
func asProxy() {
	proxy, module, version, date, files := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:]
	folder := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	add := func(name, text string) {
		w, err := archive.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			panic(err)
		}
	}
	mod := "module " + module + "\n"
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		_, name, isBelow := strings.Cut(file, "/")
		if !isBelow {
			name = file
		}
		if name == "go.mod" {
			mod = string(text)
			continue
		}
		add(name, string(text))
	}
	add("go.mod", mod)
	list, _ := os.ReadFile(filepath.Join(folder, "list")) // the first release has none
	err := errors.Join(
		archive.Close(), os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, version+".zip"), packed.Bytes(), 0o600),
		os.WriteFile(filepath.Join(folder, version+".mod"), []byte(mod), 0o600),
		os.WriteFile(filepath.Join(folder, version+".info"), fmt.Appendf(nil, `{"Version":%q,"Time":%q}`, version, date+"T00:00:00Z"), 0o600),
		os.WriteFile(filepath.Join(folder, "list"), append(list, version+"\n"...), 0o600))
	if err != nil {
		panic(err)
	}
}
