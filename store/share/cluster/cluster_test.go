package cluster

import (
	"errors"
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for elections more than they compute: many at once on few processors.
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	code := Main(m)
	_ = os.RemoveAll(programs.dir)
	os.Exit(code)
}

// testStream makes a stream with a replica on each node.
func testStream(t *testing.T, c *Cluster, js jetstream.JetStream) jetstream.Stream {
	t.Helper()
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "TEST", Subjects: []string{"test.>"}, Replicas: len(c.Nodes), Storage: jetstream.FileStorage,
	})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestNodesFail kills and starts the leader of a stream and pauses another node, and holds that the
// stream goes on.
func TestNodesFail(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 3})
	_, js := c.Connect()
	testStream(t, c, js)
	publish := func() {
		t.Helper()
		wait(t, "a message is acknowledged", func() error {
			_, err := js.Publish(t.Context(), "test.one", []byte("text"))
			return err
		})
	}
	publish()
	first := c.Leader("TEST")
	first.Kill()
	publish()
	if c.Leader("TEST") == first {
		t.Fatalf("node %s still leads after its end", first.Name)
	}
	first.Start()
	c.WaitCurrent("TEST")
	first.Pause()
	publish()
	first.Resume()
	if state := c.WaitCurrent("TEST"); state.Messages < 3 {
		t.Fatalf("%d messages, want 3", state.Messages)
	}
}

// TestLinksFail cuts, freezes and slows the link of a client, and holds that the fault is there and
// ends.
func TestLinksFail(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{TLS: true, Accounts: true})
	proxy := c.Nodes[0].Proxy
	lost := make(chan error, 10)
	conn, err := nats.Connect("tls://"+c.Hosts(), nats.RootCAs(c.certificate.caFile), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Millisecond), nats.UserCredentials(c.Accounts.AddUser("one")),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { lost <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	flush := func() error { return conn.FlushTimeout(2 * time.Second) }
	wait(t, "the link is up", flush)

	proxy.Cut()
	<-lost
	if err := conn.FlushTimeout(10 * time.Millisecond); err == nil {
		t.Fatal("bytes pass a link that is cut")
	}
	proxy.Heal()
	wait(t, "the link is up again", flush)

	proxy.Freeze()
	if err := conn.FlushTimeout(50 * time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
		t.Fatalf("flush over a frozen link: %v", err)
	}
	if len(lost) > 0 || !conn.IsConnected() {
		t.Fatalf("a frozen link was closed: %v", <-lost)
	}
	proxy.Heal()
	wait(t, "the link has thawed", flush)

	proxy.Slow(20_000)
	began := time.Now()
	before := proxy.Passed()
	if err := conn.Publish("test", make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
	if err := conn.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 400*time.Millisecond || proxy.Passed()-before < 10_000 {
		t.Fatalf("%d bytes in %v over a slow link", proxy.Passed()-before, took)
	}
	proxy.Heal()

	c.Accounts.Revoke("one")
	<-lost
	c.Accounts.Reinstate("one")
	wait(t, "the user is known again", flush)
}
