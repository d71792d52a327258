//go:build amd64 || arm64

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Servers in four languages, which go on when their input has ended.
const (
	stayingNode = `#!/usr/bin/env node
const out = m => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n')
require('node:readline').createInterface({ input: process.stdin }).on('line', l => {
  const m = JSON.parse(l)
  if (m.method === 'initialize') out({ id: m.id, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } } })
})
setInterval(() => {}, 3600000)
`
	stayingPython = `import sys, json, time
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}}), flush=True)
while True:
    time.sleep(3600)
`
	stayingShell = `while read -r line; do
  case "$line" in *'"initialize"'*) echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}' ;; esac
done
while :; do sleep 3600; done
`
	stayingGo = `package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if strings.Contains(lines.Text(), "\"initialize\"") {
			fmt.Println("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}")
		}
	}
	time.Sleep(time.Hour)
}
`
	// A language server speaks JSON-RPC, too, and reads no more.
	deafLanguageServer = `// serverInfo, protocolVersion, textDocument/didOpen
setInterval(() => {}, 3600000)
`
)

// stayingServer is a server with its client.
type stayingServer struct {
	client *exec.Cmd
	server int // the process that the client has started
	kind   string
}

// leaveBehind starts a server below a client of its own, and waits until they have shaken hands.
func leaveBehind(t *testing.T, kind string, env []string, command ...string) stayingServer {
	t.Helper()
	client := exec.Command("planter", command...)
	client.Env = append(os.Environ(), env...)
	client.Stderr = os.Stderr
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	p := stayingServer{client: client, kind: kind}
	if _, err := fmt.Fscan(out, &p.server); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	t.Cleanup(func() {
		p.orphan()
		_ = syscall.Kill(-p.server, syscall.SIGKILL) // it leads a session
	})
	return p
}

// orphan ends the client by force.
func (p stayingServer) orphan() {
	_ = p.client.Process.Kill()
	_ = p.client.Wait()
}

// stayingServers are ways to start a server that goes on when its client has gone, as far as this machine has the languages.
func stayingServers(t *testing.T) (kinds map[string][]string, env []string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shell := write("staying.sh", stayingShell)
	kinds = map[string][]string{"shell": {"sh", shell}, "shell behind a launcher": {"sh", "-c", "sh " + phrase.ShellWord(shell) + "; true"}}
	if node, err := exec.LookPath("node"); err == nil {
		script := write("staying.cjs", stayingNode)
		kinds["node"] = []string{node, script}
		kinds["node behind a launcher"] = []string{"sh", "-c", node + " " + phrase.ShellWord(script) + "; true"}
		if npx, err := exec.LookPath("npx"); err == nil {
			write("node_modules/staying/package.json", `{"name":"staying","version":"1.0.0","bin":{"staying":"staying.cjs"}}`)
			write("node_modules/staying/staying.cjs", stayingNode)
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "node_modules", ".bin"), 0o755),
				os.Symlink("../staying/staying.cjs", filepath.Join(dir, "node_modules", ".bin", "staying"))); err != nil {
				t.Fatal(err)
			}
			kinds["npx"] = []string{npx, "--no-install", "--prefix", dir, "staying"}
		}
	}
	if python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil { // no launcher of versions
		kinds["python"] = []string{strings.TrimSpace(string(python)), write("staying.py", stayingPython)}
	}
	source := write("staying/main.go", stayingGo)
	program := filepath.Join(dir, "staying-go")
	build := exec.Command("go", "build", "-o", program, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Logf("no Go: %v\n%s", err, out)
	} else {
		kinds["go"] = []string{program}
	}
	return kinds, []string{"npm_config_update_notifier=false", "npm_config_cache=" + filepath.Join(dir, "cache")}
}

// withoutConfiguration gives the test a home with no store and no client's configuration.
func withoutConfiguration(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "MCPREC_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, filepath.Join(home, strings.ToLower(name)))
	}
	t.Chdir(home)
}

// psOf runs mcprec ps --json, and returns what it lists by each of the processes of a server.
func psOf(t *testing.T, args ...string) map[int]report.RunningServer {
	t.Helper()
	out, errs, code := inProcess(t, nil, append([]string{"ps", "--json"}, args...)...)
	if code != 0 && !slices.Contains(args, "--fail-on") {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	listed := map[int]report.RunningServer{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var s report.RunningServer
		if err := dec.Decode(&s); err == io.EOF {
			return listed
		} else if err != nil {
			t.Fatal(err)
		}
		for _, pid := range s.Processes {
			listed[pid] = s
		}
	}
}

// Servers whose client was killed are listed as orphans, in each language and behind each launcher; while it lives,
// they are listed with it. What else runs beside them, in pipelines, as a language server or a database, is not.
func TestPsOrphans(t *testing.T) {
	if err := procfs.Supported(); err != nil {
		t.Skip(err)
	}
	kinds, env := stayingServers(t)
	withoutConfiguration(t)
	orphans, others := len(kinds), 20
	if storetest.Night() {
		orphans, others = 50, 200
	}
	ours := plantOthers(t, others)
	names := slices.Sorted(maps.Keys(kinds))
	var servers []stayingServer
	for i := range orphans {
		kind := names[i%len(names)]
		servers = append(servers, leaveBehind(t, kind, env, kinds[kind]...))
	}
	listed := psOf(t)
	for _, p := range servers {
		s, is := listed[p.server]
		if !is || s.Client == nil || s.Client.PID != p.client.Process.Pid || s.Orphan != "" || s.Recorded || s.Memory == 0 {
			t.Errorf("%s, with its client %d: listed: %v: %+v", p.kind, p.client.Process.Pid, is, s)
		}
	}
	for _, p := range servers {
		p.orphan()
	}
	listed = psOf(t, "--orphans")
	for _, p := range servers {
		if s, is := listed[p.server]; !is || s.Client != nil || s.Orphan == "" {
			t.Errorf("%s, without its client: listed: %v: %+v", p.kind, is, s)
		}
	}
	all := psOf(t)
	wrong := 0
	for _, pid := range ours {
		if s, is := all[pid]; is {
			wrong++
			t.Errorf("process %d is no server of the protocol: %+v", pid, s)
		}
	}
	if _, _, code := inProcess(t, nil, "ps", "--fail-on", "orphans"); code != 1 {
		t.Errorf("exit status %d with orphans", code)
	}
	storetest.Tell(t, "a client killed that leaves its server behind: node, Python, Go, shell, npx and launchers", len(servers),
		fmt.Sprintf("all are listed as orphans; %d of %d other processes are", wrong, len(ours)))
}

// plantOthers starts processes that are no servers of the protocol, and returns their numbers: pipelines, programs that
// wait, language servers with messages that they have not read, and programs that listen.
func plantOthers(t *testing.T, count int) (pids []int) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "language-server.cjs")
	messages := filepath.Join(dir, "session.jsonl")
	line := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"
	if err := errors.Join(os.WriteFile(script, []byte(deafLanguageServer), 0o600), os.WriteFile(messages, []byte(strings.Repeat(line, 5000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, noNode := exec.LookPath("node")
	ways := []func() *exec.Cmd{
		func() *exec.Cmd { return exec.Command("sh", "-c", "sleep 3600 | cat | cat >/dev/null") },
		func() *exec.Cmd {
			return exec.Command("sh", "-c", "cat "+phrase.ShellWord(messages)+" | (sleep 3600; cat) | cat >/dev/null")
		},
		func() *exec.Cmd { return exec.Command("sleep", "3600") },
		func() *exec.Cmd { return exec.Command("tail", "-f", messages) },
		func() *exec.Cmd { return exec.Command("cat") }, // an idle filter, with both ends ours
	}
	if noNode == nil {
		ways = append(ways, func() *exec.Cmd { return exec.Command("node", script) })
	}
	for i := 0; len(pids) < count; i++ {
		cmd := ways[i%len(ways)]()
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			_ = cmd.Wait()
			_, _ = in.Close(), out.Close()
		})
		if strings.HasSuffix(strings.Join(cmd.Args, " "), script) {
			document := `{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}`
			fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(document), document)
		}
		pids = append(pids, cmd.Process.Pid)
		for _, below := range procfs.Tree(procfs.Identify(cmd.Process.Pid)).Below() {
			pids = append(pids, below.PID)
		}
	}
	return pids
}

// A server behind a recorder is listed once, as recorded in its session, with the client before the recorder.
func TestPsRecorded(t *testing.T) {
	if err := procfs.Supported(); err != nil {
		t.Skip(err)
	}
	withoutConfiguration(t)
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "echo")
	defer c.close()
	if err := c.ping(1); err != nil {
		t.Fatal(err)
	}
	listed := psOf(t, "--store", home)
	var found []report.RunningServer
	for pid, s := range listed {
		if s.Client != nil && s.Client.PID == os.Getpid() && pid == s.PID {
			found = append(found, s)
		}
	}
	if len(found) != 1 || !found[0].Recorded || found[0].Session == "" || found[0].Reason != "recording" || found[0].PID == c.cmd.Process.Pid {
		t.Fatalf("%+v", found)
	}
	if s, is := psOf(t)[found[0].PID]; !is || !s.Recorded || s.Session != "" {
		t.Errorf("of another store: %v, %+v", is, s)
	}
	out, _, _ := inProcess(t, nil, "why", "--store", home, fmt.Sprint(found[0].PID))
	if !strings.Contains(string(out), "recorded: mcprec why "+string(found[0].Session)) {
		t.Errorf("%s", out)
	}
	_, errs, code := inProcess(t, nil, "attach", "--store", home, fmt.Sprint(found[0].PID))
	if code != 2 || !strings.Contains(string(errs), "is recorded as session") {
		t.Errorf("attach: %d, %s", code, errs)
	}
}

// Of another user's processes one line says that they are not yours to read.
func TestPsOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	mcprec, err := exec.LookPath("mcprec")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "other user ö")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "mcprec")
	data, err := os.ReadFile(mcprec)
	if err := errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(program, data, 0o755), os.Chmod(program, 0o755)); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir, "MCPREC_HOME="+filepath.Join(dir, "none"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if said := run("version"); !strings.HasPrefix(said, "mcprec ") {
		t.Skipf("another user cannot run it here: %s", said)
	}
	if said := run("ps"); strings.Count(said, "not yours to read; sudo mcprec ps looks at") != 1 {
		t.Errorf("%s", said)
	}
	for _, command := range []string{"why", "attach"} {
		if said := run(command, fmt.Sprint(os.Getpid())); strings.Count(said, "\n") != 1 || !strings.Contains(said, "not yours to read; sudo mcprec") {
			t.Errorf("%s: %s", command, said)
		}
	}
}
