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
	hosts   string // of the address
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
			if got := m.run(keeper, "share", "make", m.url(keeper), "--max-bytes", bound); got.code != 0 || !strings.HasSuffix(got.out, "/MCPREC is ready\n") {
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
	for _, name := range regexp.MustCompile(`\$(\w+_(PUSHER|PULLER|KEEPER))\b`).FindAllStringSubmatch(m.read(file), -1) {
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

// password returns the password of a user such as "puller" or "payments-puller".
func password(user string) string {
	if !strings.Contains(user, "-") {
		user = "platform-" + user
	}
	return "pass-" + strings.ToUpper(strings.ReplaceAll(user, "-", "_"))
}

// url is the address for a user.
func (m *team) url(user string) string {
	return "tls://" + user + ":" + password(user) + "@" + m.hosts + "/MCPREC?ca=" + filepath.Join(m.dir, "ca.pem")
}

func (m *team) run(user string, args ...string) result {
	return m.machine.run(filepath.Join(m.dir, "home-"+user), args...)
}

// record records a short session with a label on a machine of a user.
func (m *team) record(user, label string) (home string) {
	m.t.Helper()
	home = filepath.Join(m.dir, "home-"+user)
	cmd := m.machine.command(home, "record", "-l", label, "--", "sh", "-c", "cat > /dev/null")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("record: %v\n%s", err, out)
	}
	return home
}

// TestTeam holds that the page's configuration starts a cluster in which each role may do what it must and
// no more, and no tenant sees another.
func TestTeam(t *testing.T) {
	t.Parallel()
	m := startTeam(t)
	for user, label := range map[string]string{"pusher": "trunk", "payments-pusher": "till"} {
		m.machine.must(m.record(user, label), "share", "push", "--once", m.url(user))
	}
	m.record("puller", "root")
	const denied = "may not do this"
	for _, test := range []struct {
		user, line string
		code       int
		says       string // in what is printed
		hides      string // and this is not
	}{
		{"puller", "pull --once --into {new}", 0, "trunk", "till"},
		{"payments-puller", "pull --once --into {new}", 0, "till", "trunk"},
		{"keeper", "pull --once --into {new}", 0, "trunk", "till"},
		{"pusher", "pull --once --into {new}", 3, denied, "trunk"},
		{"puller", "push --once", 3, denied, ""},
		{"puller", "make --max-bytes 1GB", 3, "exists with max_bytes", ""},
		{"puller", "status", 1, "1 session, ", ""},
	} {
		words := strings.Fields(strings.ReplaceAll(test.line, "{new}", t.TempDir()))
		got := m.run(test.user, append([]string{"share", words[0], m.url(test.user)}, words[1:]...)...)
		said := got.out + got.errs
		if got.code != test.code || !strings.Contains(said, test.says) || test.hides != "" && strings.Contains(said, test.hides) {
			t.Errorf("%s: mcprec share %s: exit status %d, want %d, %q and no %q:\n%s", test.user, test.line, got.code, test.code, test.says, test.hides, said)
		}
	}
	m.holdForbidden()
}

// holdForbidden tries, as a client that is not mcprec, what the roles must not do.
func (m *team) holdForbidden() {
	m.t.Helper()
	for _, test := range []struct {
		user string
		what string
		try  func(js api.JetStream) error
	}{
		{"pusher", "purge", func(js api.JetStream) error {
			return js.Conn().PublishRequest("$JS.API.STREAM.PURGE.MCPREC", "_INBOX.x", nil)
		}},
		{"pusher", "delete the stream", func(js api.JetStream) error {
			return js.Conn().Publish("$JS.API.STREAM.DELETE.MCPREC", nil)
		}},
		{"pusher", "listen to others", func(js api.JetStream) error {
			_, err := js.Conn().SubscribeSync("mcprec.>")
			return err
		}},
		{"puller", "publish an event", func(js api.JetStream) error { return js.Conn().Publish("mcprec.s.x", nil) }},
		{"puller", "publish an entry", func(js api.JetStream) error { return js.Conn().Publish("mcprec.m.x", nil) }},
		{"puller", "change the stream", func(js api.JetStream) error {
			return js.Conn().Publish("$JS.API.STREAM.UPDATE.MCPREC", nil)
		}},
		{"puller", "delete messages", func(js api.JetStream) error {
			return js.Conn().Publish("$JS.API.STREAM.MSG.DELETE.MCPREC", nil)
		}},
		{"keeper", "publish an event", func(js api.JetStream) error { return js.Conn().Publish("mcprec.s.x", nil) }},
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
