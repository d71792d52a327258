package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options choose the configuration of a cluster. The zero value is one node without TLS and accounts
// that syncs its files as a server does by default, every two minutes.
type Options struct {
	Nodes      int             // 1 or 3; 0 means 1
	SyncAlways bool            // each message is synced before it is acknowledged
	TLS        bool            // clients must use TLS; the certificate is for 127.0.0.1
	Accounts   bool            // clients need credentials, see [Accounts]
	MaxStore   int64           // bytes of all streams of a node; 0 means 20 GiB
	Folders    []string        // where each node keeps its streams; "" and missing ones: the test's temporary folder
	Clocks     []time.Duration // how far the clock of each node is ahead; missing ones: not at all
}

// ports are the ports of a node.
type ports struct{ client, monitor, route int }

// pickPorts returns free ports for n nodes. They lie below the range from which the kernel takes the
// local ports of outgoing connections, so that they are still free when a killed node starts again.
// Another process may listen on one meanwhile: then the server says so, and the caller picks others.
func pickPorts(n int) ([]ports, error) {
	var open []net.Listener
	defer func() {
		for _, l := range open {
			_ = l.Close()
		}
	}()
	free := func() (int, error) {
		var lastErr error
		for range 1000 {
			port := 10_000 + rand.IntN(22_000)
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err == nil {
				open = append(open, l)
				return port, nil
			}
			lastErr = err
		}
		return 0, fmt.Errorf("find a free port: %w", lastErr)
	}
	picked := make([]ports, n)
	for i := range picked {
		for _, port := range []*int{&picked[i].client, &picked[i].monitor, &picked[i].route} {
			var err error
			if *port, err = free(); err != nil {
				return nil, err
			}
		}
	}
	return picked, nil
}

// writeConfig writes the configuration of node i.
func (c *Cluster) writeConfig(i int) error {
	node := c.Nodes[i]
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("server_name: %q", node.Name)
	line("listen: \"127.0.0.1:%d\"", node.ports.client)
	line("http: \"127.0.0.1:%d\"", node.ports.monitor)
	sync := "2m"
	if c.options.SyncAlways {
		sync = "always"
	}
	maxStore := c.options.MaxStore
	if maxStore == 0 {
		maxStore = 20 << 30
	}
	line("jetstream { store_dir: %q, max_file_store: %d, sync_interval: %q }", node.folder, maxStore, sync)
	if len(c.Nodes) > 1 {
		var routes []string
		for _, other := range c.Nodes {
			routes = append(routes, fmt.Sprintf("\"nats://127.0.0.1:%d\"", other.ports.route))
		}
		// Clients are not told of the other nodes' ports: they are to use the proxies.
		line("cluster { name: \"tests\", listen: \"127.0.0.1:%d\", no_advertise: true, routes: [%s] }",
			node.ports.route, strings.Join(routes, ", "))
	}
	if c.options.TLS {
		line("tls { cert_file: %q, key_file: %q }", c.certificate.certFile, c.certificate.keyFile)
	}
	if c.Accounts != nil {
		line("operator: %s", c.Accounts.operatorJWT)
		line("system_account: %s", c.Accounts.systemKey)
		line("resolver { type: full, dir: %q }", filepath.Join(node.dir, "resolver"))
		line("resolver_preload { %s: %s, %s: %s }", c.Accounts.systemKey, c.Accounts.systemJWT,
			c.Accounts.tenantKey, c.Accounts.tenantJWT)
	}
	return os.WriteFile(node.configFile(), []byte(text.String()), 0o600)
}
