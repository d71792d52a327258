package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Cluster is a set of servers. Its methods are for the test's goroutine, but for URL.
type Cluster struct {
	Nodes    []*Node
	Accounts *Accounts // nil without [Options].Accounts

	t           testing.TB
	options     Options
	certificate *certificate
}

// Start starts a cluster and returns when a stream with a replica on each node can be made.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	options.Nodes = max(options.Nodes, 1)
	c := &Cluster{t: t, options: options}
	dir := t.TempDir()
	if options.TLS {
		c.certificate = newCertificate(t, dir)
	}
	if options.Accounts {
		c.Accounts = newAccounts(t, c, dir)
	}
	for i := range options.Nodes {
		node := &Node{t: t, Name: fmt.Sprintf("n%d", i+1)}
		node.dir = filepath.Join(dir, node.Name)
		node.folder = node.dir
		if i < len(options.Folders) && options.Folders[i] != "" {
			node.folder = options.Folders[i]
		}
		if i < len(options.Clocks) {
			node.ahead = options.Clocks[i]
		}
		node.Proxy = newProxy(t)
		c.Nodes = append(c.Nodes, node)
	}
	t.Cleanup(c.stop)
	for !c.startAll() {
		t.Log("a port was taken: again with others")
	}
	return c
}

// startAll picks ports and starts every node; false: a port was taken meanwhile.
func (c *Cluster) startAll() bool {
	c.t.Helper()
	picked, err := pickPorts(len(c.Nodes))
	if err != nil {
		c.t.Fatal(err)
	}
	for i, node := range c.Nodes {
		node.ports = picked[i]
		node.Proxy.setTarget(fmt.Sprintf("127.0.0.1:%d", node.ports.client))
	}
	for i, node := range c.Nodes {
		if err := os.MkdirAll(node.dir, 0o700); err != nil {
			c.t.Fatal(err)
		}
		if err := c.writeConfig(i); err != nil {
			c.t.Fatal(err)
		}
		node.start()
	}
	taken := false
	wait(c.t, "the cluster has a leader", func() error {
		for _, node := range c.Nodes {
			select {
			case <-node.exited:
				if taken = node.portTaken(); taken {
					return nil
				}
				return fmt.Errorf("node %s has exited", node.Name)
			default:
			}
		}
		return c.ready()
	})
	if taken {
		for _, node := range c.Nodes {
			node.Kill()
			_ = os.Remove(node.logFile())
			_ = os.RemoveAll(filepath.Join(node.folder, "jetstream"))
		}
	}
	return !taken
}

// stop kills every node, and shows the logs of a failed test.
func (c *Cluster) stop() {
	for _, node := range c.Nodes {
		node.Kill()
		if !c.t.Failed() {
			continue
		}
		log, _ := os.ReadFile(node.logFile())
		lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
		c.t.Logf("the last words of node %s:\n%s", node.Name, bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
	}
}

// raftGroup is the part of an answer of the monitoring port that tells of a leader and its replicas.
type raftGroup struct {
	Leader   string `json:"leader"`
	Replicas []struct {
		Name    string `json:"name"`
		Current bool   `json:"current"`
		Offline bool   `json:"offline"`
	} `json:"replicas"`
}

// current reports why not every replica has what its leader has; nil: it has.
func (g *raftGroup) current(nodes int) error {
	switch {
	case g == nil || g.Leader == "":
		return errors.New("no leader")
	case len(g.Replicas) < nodes-1:
		return fmt.Errorf("leader %s knows %d replicas", g.Leader, len(g.Replicas))
	}
	for _, replica := range g.Replicas {
		if replica.Offline || !replica.Current {
			return fmt.Errorf("replica %s is behind leader %s", replica.Name, g.Leader)
		}
	}
	return nil
}

// ready reports why the nodes cannot hold a new stream yet; nil: they can.
func (c *Cluster) ready() error {
	for _, node := range c.Nodes {
		if err := node.get("/healthz", nil); err != nil {
			return err
		}
	}
	if len(c.Nodes) == 1 {
		return nil
	}
	why := errors.New("no node leads")
	for _, node := range c.Nodes {
		var answer struct {
			Meta *raftGroup `json:"meta_cluster"`
		}
		if err := node.get("/jsz", &answer); err != nil {
			return err
		}
		if answer.Meta != nil && answer.Meta.Leader == node.Name {
			why = answer.Meta.current(len(c.Nodes))
		}
	}
	return why
}

// StreamState is what the nodes say of a stream.
type StreamState struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	LastSeq  uint64 `json:"last_seq"`
}

// stream asks a node for a stream. The state is that of the node's own replica.
func (n *Node) stream(name string) (state StreamState, group *raftGroup, err error) {
	var answer struct {
		Accounts []struct {
			Streams []struct {
				Name  string      `json:"name"`
				State StreamState `json:"state"`
				Group *raftGroup  `json:"cluster"`
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := n.get("/jsz?accounts=true&streams=true", &answer); err != nil {
		return state, nil, err
	}
	for _, account := range answer.Accounts {
		for _, stream := range account.Streams {
			if stream.Name == name {
				return stream.State, stream.Group, nil
			}
		}
	}
	return state, nil, fmt.Errorf("node %s has no stream %s", n.Name, name)
}

// Leader returns the node that leads a stream, and waits until one does.
func (c *Cluster) Leader(stream string) *Node {
	c.t.Helper()
	var leader *Node
	wait(c.t, "stream "+stream+" has a leader", func() error {
		why := errors.New("no node leads")
		for _, node := range c.Nodes {
			if !node.Running() {
				continue
			}
			_, group, err := node.stream(stream)
			if err != nil {
				why = err
				continue
			}
			if len(c.Nodes) == 1 || group != nil && group.Leader == node.Name {
				leader = node
				return nil
			}
		}
		return why
	})
	return leader
}

// WaitCurrent waits until a stream's leader says that each replica has what it has, and returns the
// stream's state.
func (c *Cluster) WaitCurrent(stream string) StreamState {
	c.t.Helper()
	var state StreamState
	wait(c.t, "each replica of stream "+stream+" is current", func() error {
		why := errors.New("no node leads")
		for _, node := range c.Nodes {
			found, group, err := node.stream(stream)
			if err != nil {
				return err
			}
			if len(c.Nodes) > 1 && (group == nil || group.Leader != node.Name) {
				continue
			}
			state = found
			why = nil
			if len(c.Nodes) > 1 {
				why = group.current(len(c.Nodes))
			}
		}
		return why
	})
	return state
}

// Hosts returns the addresses of the proxies, with commas between them.
func (c *Cluster) Hosts() string {
	var hosts []string
	for _, node := range c.Nodes {
		hosts = append(hosts, node.Proxy.Addr())
	}
	return strings.Join(hosts, ",")
}

// URL returns the URL of a stream for push and pull, through the proxies, with the credentials of a user of
// [Accounts.AddUser] ("" without accounts).
func (c *Cluster) URL(stream, credentials string) string {
	return c.url(c.Hosts(), stream, credentials)
}

// DirectURL is URL past the proxies.
func (c *Cluster) DirectURL(stream, credentials string) string {
	return c.url(c.directHosts(), stream, credentials)
}

func (c *Cluster) directHosts() string {
	var hosts []string
	for _, node := range c.Nodes {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", node.ports.client))
	}
	return strings.Join(hosts, ",")
}

func (c *Cluster) url(hosts, stream, credentials string) string {
	scheme := "nats"
	query := url.Values{}
	if c.options.TLS {
		scheme = "tls"
		query.Set("ca", c.certificate.caFile)
	}
	if credentials != "" {
		query.Set("creds", credentials)
	}
	text := scheme + "://" + hosts + "/" + stream
	if len(query) > 0 {
		text += "?" + query.Encode()
	}
	return text
}

// Connect connects a client of the test's own, past the proxies, so that no fault of a link reaches it.
func (c *Cluster) Connect() (*nats.Conn, jetstream.JetStream) {
	c.t.Helper()
	// Pings find a paused node.
	options := []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond),
		nats.PingInterval(200 * time.Millisecond), nats.MaxPingsOutstanding(5)}
	if c.options.TLS {
		options = append(options, nats.RootCAs(c.certificate.caFile))
	}
	if c.Accounts != nil {
		options = append(options, nats.UserCredentials(c.Accounts.admin))
	}
	conn, err := nats.Connect(c.directHosts(), options...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(conn.Close)
	stream, err := jetstream.New(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn, stream
}
