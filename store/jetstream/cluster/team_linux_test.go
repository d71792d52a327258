package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"
)

// team is the cluster that the page's configuration makes: three nodes on three addresses of this
// machine, with TLS, roles and two tenants.
type team struct {
	t       *testing.T
	dir     string
	hosts   string // of the store's address
	machine *machine
}

// startTeam starts nodes with the configuration as it stands on the page, but for addresses and files.
func startTeam(t *testing.T) *team {
	t.Helper()
	text := ""
	for _, b := range blocks(t, "conf") {
		text += b.text
	}
	m := &team{t: t, dir: t.TempDir(), machine: newMachine(t)}
	client, route, monitor := freePrefix(t, "127.0.0.1"), freePrefix(t, "127.0.0.1"), freePrefix(t, "127.0.0.1")
	certificate := newCertificate(t, m.dir)
	replace := func(old, now string) {
		t.Helper()
		if !strings.Contains(text, old) {
			t.Fatalf("the configuration of the page has no %s", old)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	replace("/etc/nats/node.pem", certificate.certFile)
	replace("/etc/nats/node-key.pem", certificate.keyFile)
	replace("/etc/nats/ca.pem", certificate.caFile)
	for n := 1; n <= 3; n++ {
		replace(fmt.Sprintf("n%d.example:6222", n), fmt.Sprintf("127.0.0.1:%s%d", route, n))
	}
	var hosts []string
	for n := 1; n <= 3; n++ {
		host := fmt.Sprintf("127.0.0.1:%s%d", client, n)
		own := strings.NewReplacer("0.0.0.0:4222", host, "127.0.0.1:8222", fmt.Sprintf("127.0.0.1:%s%d", monitor, n),
			"0.0.0.0:6222", fmt.Sprintf("127.0.0.1:%s%d", route, n),
			"/var/lib/nats", filepath.Join(m.dir, fmt.Sprintf("data%d", n))).Replace(text)
		file := filepath.Join(m.dir, fmt.Sprintf("n%d.conf", n))
		if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, host)
		m.startNode(n, file)
	}
	m.hosts = strings.Join(hosts, ",")
	for keeper, bound := range map[string]string{"keeper": "110GB", "payments-keeper": "35GB"} {
		wait(t, "the "+keeper+" makes the streams", func() error {
			if got := m.run(keeper, "store", "make", "--max-bytes", bound); got.code != 0 || !strings.HasSuffix(got.out, "/MCPREC is ready\n") {
				return fmt.Errorf("%d %s%s", got.code, got.out, got.errs)
			}
			return nil
		})
	}
	return m
}

// startNode starts a node, which is killed at the end.
func (m *team) startNode(n int, file string) {
	m.t.Helper()
	cmd := exec.Command(server(m.t), "-c", file)
	cmd.Env = append(os.Environ(), fmt.Sprintf("NATS_NODE=n%d", n))
	for _, name := range regexp.MustCompile(`\$(\w+_(RECORDER|READER|KEEPER))\b`).FindAllStringSubmatch(m.read(file), -1) {
		cmd.Env = append(cmd.Env, name[1]+"=pass-"+name[1])
	}
	log, err := os.Create(filepath.Join(m.dir, fmt.Sprintf("n%d.log", n)))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = diesWithParent()
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if m.t.Failed() {
			text := m.read(log.Name())
			m.t.Logf("node n%d: …%s", n, text[max(0, len(text)-1500):])
		}
	})
}

func (m *team) read(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

// password returns the password of a user such as "reader" or "payments-reader".
func password(user string) string {
	if !strings.Contains(user, "-") {
		user = "platform-" + user
	}
	return "pass-" + strings.ToUpper(strings.ReplaceAll(user, "-", "_"))
}

// url is the store's address for a user.
func (m *team) url(user string) string {
	return "tls://" + user + ":" + password(user) + "@" + m.hosts + "/MCPREC?ca=" + filepath.Join(m.dir, "ca.pem")
}

func (m *team) run(user string, args ...string) result { return m.machine.run(m.url(user), args...) }

// record records a short session with a label, and flushes until the store has it.
func (m *team) record(user, label string) {
	m.t.Helper()
	cmd := m.machine.command(m.url(user), "record", "-l", label, "--", "sh", "-c", "cat > /dev/null")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("record as %s: %v\n%s", user, err, out)
	}
	wait(m.t, "the session of "+user+" is in the shared store", func() error {
		if got := m.run(user, "store", "flush"); got.code != 0 {
			return fmt.Errorf("%d %s%s", got.code, got.out, got.errs)
		}
		return nil
	})
}

// TestTeam holds that the page's configuration starts a cluster in which each role may do what it must and
// no more, and no tenant sees another.
func TestTeam(t *testing.T) {
	t.Parallel()
	m := startTeam(t)
	m.record("recorder", "trunk")
	m.record("payments-recorder", "till")
	const denied = "may not do this"
	for _, test := range []struct {
		user, line string
		code       int
		says       string // in what is printed
		hides      string // and this is not
	}{
		{"reader", "list", 0, "trunk", "till"},
		{"reader", "show trunk", 0, "request ping", ""},
		{"reader", "tail trunk", 0, "request ping", ""},
		{"reader", "why --all", 0, "trunk", "till"},
		{"reader", "export trunk", 0, `"method":"ping"`, ""},
		{"reader", "store verify", 0, "1 session", ""},
		{"reader", "show till", 2, "no session", "ping"},
		{"payments-reader", "list", 0, "till", "trunk"},
		{"payments-reader", "show trunk", 2, "no session", "ping"},
		{"payments-keeper", "list", 0, "till", "trunk"},
		{"recorder", "list", 3, denied, "trunk"},
		{"recorder", "show trunk", 3, denied, "ping"},
		{"recorder", "rm trunk", 3, denied, "removed 1"},
		{"reader", "rm trunk", 3, denied, "removed 1"},
		{"reader", "store prune --keep 0", 3, denied, "removed 1"},
		{"payments-keeper", "store prune --keep 0", 0, "removed 1", "trunk"},
		{"reader", "list", 0, "trunk", "till"},
		{"payments-reader", "list", 0, "no sessions", "trunk"},
		{"keeper", "rm trunk", 0, "", ""},
		{"reader", "list", 0, "no sessions", ""},
	} {
		got := m.run(test.user, strings.Fields(test.line)...)
		said := got.out + got.errs
		if got.code != test.code || !strings.Contains(said, test.says) || test.hides != "" && strings.Contains(said, test.hides) {
			t.Errorf("%s: mcprec %s: exit status %d, want %d, %q and no %q:\n%s", test.user, test.line, got.code, test.code, test.says, test.hides, said)
		}
	}
	m.holdForbidden()
	m.holdDoctor()
}

// holdForbidden tries, as a client that is not mcprec, what the roles must not do.
func (m *team) holdForbidden() {
	m.t.Helper()
	for _, test := range []struct {
		user string
		what string
		try  func(js api.JetStream) error
	}{
		{"recorder", "purge", func(js api.JetStream) error {
			return js.Conn().PublishRequest("$JS.API.STREAM.PURGE.MCPREC", "_INBOX.x", nil)
		}},
		{"recorder", "delete the stream", func(js api.JetStream) error {
			return js.Conn().Publish("$JS.API.STREAM.DELETE.MCPREC", nil)
		}},
		{"recorder", "listen to others", func(js api.JetStream) error {
			_, err := js.Conn().SubscribeSync("mcprec.>")
			return err
		}},
		{"reader", "publish an event", func(js api.JetStream) error { return js.Conn().Publish("mcprec.s.x", nil) }},
		{"reader", "publish an entry", func(js api.JetStream) error { return js.Conn().Publish("mcprec.m.x", nil) }},
		{"reader", "change the stream", func(js api.JetStream) error {
			return js.Conn().Publish("$JS.API.STREAM.UPDATE.MCPREC", nil)
		}},
		{"reader", "delete messages", func(js api.JetStream) error {
			return js.Conn().Publish("$JS.API.STREAM.MSG.DELETE.MCPREC", nil)
		}},
		{"keeper", "listen to the answers for the system", func(js api.JetStream) error {
			return js.Conn().Publish("$SYS.REQ.SERVER.PING", nil)
		}},
	} {
		refused := make(chan error, 1)
		conn, err := nats.Connect(m.hosts, nats.UserInfo(test.user, password(test.user)), nats.RootCAs(filepath.Join(m.dir, "ca.pem")),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
		if err != nil {
			m.t.Fatal(err)
		}
		js, err := api.New(conn)
		if err != nil {
			m.t.Fatal(err)
		}
		if err := test.try(js); err != nil {
			m.t.Errorf("%s: %s: %v", test.user, test.what, err)
		}
		_ = conn.Flush()
		select {
		case <-refused:
		case <-time.After(patience):
			m.t.Errorf("%s may %s", test.user, test.what)
		}
		conn.Close()
	}
}

// holdDoctor holds that the doctor has nothing to say against the page's configuration.
func (m *team) holdDoctor() {
	m.t.Helper()
	for _, role := range []string{"keeper", "reader", "recorder"} {
		got := m.run(role, "store", "doctor", "--role", role)
		if got.code != 0 || !strings.Contains(got.out, "0 errors, 0 warnings, 1 note") {
			m.t.Errorf("for a %s the doctor's exit status is %d:\n%s%s", role, got.code, got.out, got.errs)
		}
	}
	if got := m.run("reader", "store", "doctor", "--role", "recorder"); got.code != 1 || !strings.Contains(got.out, "error    these credentials may not publish events") {
		m.t.Errorf("of a reader's credentials for a recorder the doctor says, with exit status %d:\n%s%s", got.code, got.out, got.errs)
	}
}
