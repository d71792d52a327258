package cluster

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// blurs stand for what differs each time: ids, times, durations, processes, ports, who leads, the words of mcprec mcp.
var blurs = []struct {
	pattern *regexp.Regexp
	blur    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<session>"},
	{regexp.MustCompile(`(?m)^[0-9a-f]{8}(-[0-9a-f]{1,4})?\b`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "<time>"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|ns|s|m))+\b`), "<duration>"},
	{regexp.MustCompile(`\((cat|sh), \d+\)`), "(<process>)"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/\?key=\w+`), "<address>"},
	{regexp.MustCompile(`\d+( +live +reports)`), "<bytes>$1"}, // what mcprec mcp says of itself changes with its words
	{regexp.MustCompile(`(?m)(live|stuck <duration>)( +)(billing|reports)`), "$1 $3"},
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
}

// blur puts names in the place of what differs. The sessions of a list are sorted: those of the walk begin
// at once.
func blur(text string) string {
	for _, b := range blurs {
		text = b.pattern.ReplaceAllString(text, b.blur)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(lines[0], "SESSION ") || strings.HasPrefix(lines[0], "<session> live") {
		slices.Sort(lines)
	}
	return strings.Join(lines, "\n")
}

// walk runs the commands of the page. Each shell is a folder and the variables that it has exported.
type walk struct {
	t        *testing.T
	home     string            // where every shell begins
	env      []string          // of every shell
	ports    *strings.Replacer // from the ports of the page to free ones
	back     *strings.Replacer // from these to the ports of the page
	preludes map[string]string // what a shell has been told: cd and export
	count    int
	running  []*exec.Cmd
}

// TestWalk runs the commands of the page's walk from nothing to three nodes, as they stand there but for the
// ports, and holds that they print what the page shows, but for ids, times and the like.
func TestWalk(t *testing.T) {
	t.Parallel()
	path, err := mcprec()
	if err != nil {
		t.Fatal(err)
	}
	client, route, monitor := freePrefix(t, "127.0.0.1"), freePrefix(t, "127.0.0.1"), freePrefix(t, "127.0.0.1")
	w := &walk{
		t: t, home: t.TempDir(), preludes: map[string]string{},
		ports: strings.NewReplacer(":422", ":"+client, "-p 422", "-p "+client, ":622", ":"+route, "-m 822", "-m "+monitor),
		back:  strings.NewReplacer(":"+client, ":422"),
	}
	w.env = append(os.Environ(), "PATH="+filepath.Dir(path)+":"+filepath.Dir(server(t))+":"+os.Getenv("PATH"),
		"HOME="+w.home, "TZ=UTC", "NO_COLOR=1", "COLUMNS=200")
	t.Cleanup(w.end)
	for _, b := range blocks(t, "sh", "console") {
		if b.kind == "sh" {
			w.script(b)
			continue
		}
		for _, step := range regexp.MustCompile(`(?m)^\$ `).Split("\n"+b.text, -1)[1:] {
			command, want, _ := strings.Cut(step, "\n")
			if strings.HasPrefix(command, "cd ") || strings.HasPrefix(command, "export ") {
				w.preludes[b.name] += w.ports.Replace(command) + "\n"
				continue
			}
			w.hold(b, command, want)
		}
	}
}

// script runs a block as one script. What it starts beside itself goes on.
func (w *walk) script(b block) {
	w.t.Helper()
	cmd, out := w.start(b, w.ports.Replace(b.text))
	if err := cmd.Wait(); err != nil {
		w.t.Fatalf("%s:%d: %v\n%s", page, b.line, err, w.read(out))
	}
	for line := range strings.Lines(b.text) {
		if strings.HasPrefix(line, "cd ") || strings.HasPrefix(line, "export ") {
			w.preludes[b.name] += w.ports.Replace(line)
		}
	}
}

// hold runs a command until it prints what the page shows: it only reads, and what it reads may not be
// there yet. A command that serves is interrupted then.
func (w *walk) hold(b block, command, want string) {
	w.t.Helper()
	wait(w.t, fmt.Sprintf("%s:%d: %s prints what the page shows", page, b.line, command), func() error {
		cmd, out := w.start(b, w.ports.Replace(command))
		exited := make(chan struct{})
		go func() {
			_ = cmd.Wait() // why exits with 1
			close(exited)
		}()
		if strings.HasPrefix(command, "mcprec view") {
			defer func() {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
				<-exited
			}()
			wait(w.t, "view prints its address", func() error {
				if !strings.Contains(w.read(out), "\n") {
					return errors.New("nothing yet")
				}
				return nil
			})
			if err := visit(strings.TrimSpace(w.read(out))); err != nil {
				return err
			}
		} else {
			<-exited
		}
		got := w.back.Replace(w.read(out))
		if blur(got) != blur(want) {
			return fmt.Errorf("it prints\n%s\nand the page shows\n%s", blur(got), blur(want))
		}
		return nil
	})
}

// visit opens an address of mcprec view as a browser does: the document there leads on to the page, which has
// no key.
func visit(address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar}
	led, err := client.Get(address)
	if err != nil {
		return err
	}
	_ = led.Body.Close()
	page, _, _ := strings.Cut(address, "?")
	answer, err := client.Get(page)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "<title>mcprec")) {
		err = fmt.Errorf("%s: status %s", address, answer.Status)
	}
	return err
}

// start starts commands in a shell of the page; out is the file with what they print.
func (w *walk) start(b block, commands string) (cmd *exec.Cmd, out string) {
	w.t.Helper()
	w.count++
	out = filepath.Join(w.home, fmt.Sprintf("out-%d", w.count))
	file, err := os.Create(out)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd = exec.Command("sh", "-c", w.preludes[b.name]+commands)
	cmd.Dir = w.home
	cmd.Env = w.env
	cmd.Stdout = file
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.running = append(w.running, cmd)
	return cmd, out
}

func (w *walk) read(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// end kills what the page's commands have left, with the groups of their processes. Of a failed test it
// shows what the machines and the nodes said.
func (w *walk) end() {
	logs, _ := filepath.Glob(filepath.Join(w.home, "*", "*.log"))
	for _, log := range logs {
		if text := w.read(log); w.t.Failed() && text != "" {
			w.t.Logf("%s: …%s", filepath.Base(log), text[max(0, len(text)-3000):])
		}
	}
	for _, cmd := range w.running {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
