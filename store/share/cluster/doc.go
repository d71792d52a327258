// Package cluster is a test harness: it starts real nats-server processes for tests of push and pull, and breaks
// them. No program imports it.
//
// A [Cluster] is one node, or three that replicate. Each node is a process of its own with a written
// configuration in a temporary folder, and a [Proxy] stands in front of its client port. Nodes can be
// killed, paused and started again; the connections of a proxy can be cut, frozen and slowed. A [Disk]
// is a file system whose power can be cut. All of it ends with its test, and with the test process if
// that is killed (on Linux).
//
// The server is built once a test run, at the version that go.mod names as a tool: only these tests need it.
//
// # Data layout
//
//	TEMP/nN/nats.conf   the configuration of node N, from 1
//	TEMP/nN/log         what it said; shown when the test fails
//	TEMP/nN/jetstream   its streams
//
// # What it refuses to do
//
// It never waits for a time: it asks the nodes' monitoring ports until they say what a test waits for,
// and gives up with the nodes' logs after a minute without it.
//
// Source files: cluster.go (a cluster as a whole), node.go (one process), config.go (its
// configuration), accounts.go (operator, accounts, credentials, certificates), proxy.go, disk_linux.go,
// clock.go (programs whose clock is wrong).
package cluster
