package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// well returns a cluster in which nothing is to be found, for a case to spoil.
func well() *Cluster {
	stream := func(name, subjects string, isSessions bool, perSubject int64) Stream {
		return Stream{Name: name, Sessions: isSessions, Storage: "file", Replicas: 3, Retention: "limits", Discard: "new",
			AtomicPublish: isSessions, AllowDirect: !isSessions, MaxMessage: -1, MaxBytes: 100 << 30, Bytes: 1 << 30, MaxMessages: -1, MaxPerSubject: perSubject,
			Subjects: []string{subjects}, Wanted: subjects, Clustered: true, Leader: "n1",
			Followers: []Follower{{Name: "n2", Current: true}, {Name: "n3", Current: true}}}
	}
	entries := stream("MCPREC_META", "mcprec.m.>", false, 1)
	entries.Discard, entries.MaxBytes = "old", -1
	server := func(name string) Server {
		return Server{Address: name + ".example:4222", Name: name, Version: "2.15.2", TLS: true, Named: true, RoundTrip: time.Millisecond}
	}
	return &Cluster{
		Address: "nats://n1.example,n2.example,n3.example/MCPREC", Credentials: true, JetStream: true, MaxPayload: 1 << 20,
		Servers:     []Server{server("n1"), server("n2"), server("n3")},
		Account:     &Account{Storage: 1 << 30, MaxStorage: -1, MaxStreams: -1},
		Streams:     []Stream{stream("MCPREC", "mcprec.s.*", true, -1), entries},
		Permissions: []Permission{{Action: PublishEvents, Subject: "mcprec.s.*"}, {Action: Purge, Subject: "$JS.API.STREAM.PURGE.MCPREC"}},
		Clock:       &Clock{Ahead: 20 * time.Millisecond, Latency: time.Millisecond},
		Monitor:     &Monitor{Servers: []MonitoredServer{{Address: "http://n1.example:8222", Name: "n1", SyncAlways: true, ClusterSize: 3}}},
		Needs:       Needs{MinMessage: 20 << 10, MaxMessage: 600 << 10, HoldBack: 5 * time.Minute},
	}
}

// sessions, meta and deny make a case of a change to the stream of the events, to that of the entries, and
// of a denied permission.
func sessions(change func(*Stream)) func(*Cluster) {
	return func(c *Cluster) { change(&c.Streams[0]) }
}

func meta(change func(*Stream)) func(*Cluster) {
	return func(c *Cluster) { change(&c.Streams[1]) }
}

func deny(action Action) func(*Cluster) {
	return func(c *Cluster) {
		c.Permissions = append(c.Permissions, Permission{Action: action, Subject: "s", Denied: true})
	}
}

// clusterCases each spoil one thing.
var clusterCases = []struct {
	name  string
	spoil func(*Cluster)
	want  string // severity, rule and a part of what was found; "" for nothing
}{
	{"nothing is wrong", func(*Cluster) {}, ""},
	{"no server answers", func(c *Cluster) {
		for i := range c.Servers {
			c.Servers[i].Fault = "connection refused"
		}
		c.Servers = c.Servers[:1]
	}, "error server: server n1.example:4222 does not answer: connection refused"},
	{"one server of three is down", func(c *Cluster) { c.Servers[2].Fault = "timeout" }, "warning server: server n3.example:4222 does not answer"},
	{"a server that others name is not to be reached", func(c *Cluster) {
		c.Servers[2].Fault, c.Servers[2].Named = "timeout", false
	}, "note server: server n3.example:4222, which the others name, cannot be reached"},
	{"an old server", func(c *Cluster) { c.Servers[1].Version = "2.11.9" }, "error version: server n2 (n2.example:4222) is nats-server 2.11.9"},
	{"a server of the next major version", func(c *Cluster) { c.Servers[1].Version = "3.0.0" }, ""},
	{"JetStream is off", func(c *Cluster) { c.JetStream, c.Fault = false, "not enabled for account" }, "error jetstream: JetStream does not answer: not enabled for account"},
	{"no TLS", func(c *Cluster) { c.Servers[0].TLS = false }, "warning tls: the connection to n1.example:4222 is not encrypted"},
	{"no TLS on this machine", func(c *Cluster) { c.Servers[0].Address, c.Servers[0].TLS = "127.0.0.1:4222", false }, ""},
	{"no TLS on this machine, by name", func(c *Cluster) { c.Servers[0].Address, c.Servers[0].TLS = "localhost:4222", false }, ""},
	{"no TLS on this machine, version 6", func(c *Cluster) { c.Servers[0].Address, c.Servers[0].TLS = "[::1]:4222", false }, ""},
	{"no credentials", func(c *Cluster) { c.Credentials = false }, "warning credentials: the servers let this machine in"},
	{"very small messages", func(c *Cluster) { c.MaxPayload = 8 << 10 }, "error max_payload: the servers take messages of at most 8 KiB"},
	{"small messages", func(c *Cluster) { c.MaxPayload = 64 << 10 }, "note max_payload: the servers take messages of at most 64 KiB"},

	{"no stream yet", sessions(func(s *Stream) { *s = Stream{Name: "MCPREC", Missing: true} }), "note stream: there is no stream MCPREC yet"},
	{"a stream that does not answer", sessions(func(s *Stream) { s.Fault = "timeout" }), "error stream: stream MCPREC does not answer: timeout"},
	{"one copy in a cluster", sessions(func(s *Stream) { s.Replicas, s.Followers = 1, nil }), "error replicas: stream MCPREC has one copy in a cluster of 3 servers"},
	{"one copy of the summaries", meta(func(s *Stream) { s.Replicas, s.Followers = 1, nil }), "error replicas: stream MCPREC_META has one copy"},
	{"two replicas in a cluster", sessions(func(s *Stream) { s.Replicas = 2 }), "error replicas: stream MCPREC has 2 replicas in a cluster of 3 servers"},
	{"four replicas", sessions(func(s *Stream) { s.Replicas = 4 }), "note replicas: stream MCPREC has 4 replicas"},
	{"in memory", sessions(func(s *Stream) { s.Storage = "memory" }), "error storage: stream MCPREC is kept in memory"},
	{"no leader", sessions(func(s *Stream) { s.Leader = "" }), "error leader: stream MCPREC has no leader"},
	{"a follower is down", sessions(func(s *Stream) { s.Followers[0].Offline = true }), "warning followers: replica n2 of stream MCPREC is offline"},
	{"a follower is behind", sessions(func(s *Stream) { s.Followers[1].Current, s.Followers[1].Lag = false, 7 }), "warning followers: replica n3 of stream MCPREC is 7 operations behind"},
	{"interest", sessions(func(s *Stream) { s.Retention = "interest" }), "error retention: stream MCPREC has the retention interest"},
	{"discard old", sessions(func(s *Stream) { s.Discard = "old" }), "error discard: stream MCPREC discards its oldest"},
	{"few messages a session", sessions(func(s *Stream) { s.MaxPerSubject = 10 }), "error max_per_subject: stream MCPREC keeps 10 messages of a session"},
	{"many messages about a session", meta(func(s *Stream) { s.MaxPerSubject = -1 }), "error max_per_subject: stream MCPREC_META keeps older"},
	{"a maximal age", sessions(func(s *Stream) { s.MaxAge = 24 * time.Hour }), "error max_age: stream MCPREC deletes messages after 24h"},
	{"a limit of the entries", meta(func(s *Stream) { s.MaxBytes = 1 << 30 }), "error limits: stream MCPREC_META has a limit"},
	{"discard old without a limit", sessions(func(s *Stream) { s.Discard, s.MaxBytes = "old", -1 }), "warning max_bytes: stream MCPREC has no limit"},
	{"no purge", sessions(func(s *Stream) { s.DenyPurge = true }), "note deny_purge: stream MCPREC cannot be purged"},
	{"sealed", sessions(func(s *Stream) { s.Sealed = true }), "error sealed: stream MCPREC is sealed"},
	{"a mirror", sessions(func(s *Stream) { s.Mirror, s.Subjects = true, nil }), "error mirror: stream MCPREC is a mirror"},
	{"other subjects", sessions(func(s *Stream) { s.Subjects = []string{"other.*"} }), "error subjects: stream MCPREC takes other.*"},
	{"small messages in a stream", sessions(func(s *Stream) { s.MaxMessage = 1 << 10 }), "error max_message: stream MCPREC takes messages of at most 1 KiB"},
	{"no atomic batches", sessions(func(s *Stream) { s.AtomicPublish = false }), "error atomic_publish: stream MCPREC does not allow"},
	{"no direct reads", meta(func(s *Stream) { s.AllowDirect = false }), "error allow_direct: stream MCPREC_META has no direct get"},
	{"no limit", sessions(func(s *Stream) { s.MaxBytes = -1 }), "warning max_bytes: stream MCPREC has no limit"},
	{"fairly full", sessions(func(s *Stream) { s.Bytes = 80 << 30 }), "warning room: stream MCPREC has 80 GiB of 100 GiB"},
	{"nearly full", sessions(func(s *Stream) { s.Bytes = 95 << 30 }), "error room: stream MCPREC has 95 GiB of 100 GiB"},
	{"full of messages", sessions(func(s *Stream) { s.MaxMessages, s.Messages = 10, 10 }), "error room: stream MCPREC has 10 of 10 messages"},

	{"an account that is nearly full", func(c *Cluster) { c.Account.MaxStorage = 1100 << 20 }, "warning account: the account uses 1 GiB of 1.1 GiB"},
	{"no publishing", deny(PublishEvents), "error permission: these credentials may not publish events (s)"},
	{"no getting", deny(GetMessage), "error permission: these credentials may not get a message (s)"},
	{"no consumers", deny(Consume), "warning permission: these credentials may not make a consumer"},
	{"no answers", deny(Receive), "error permission: these credentials may not receive answers"},
	{"no purging in either stream", func(c *Cluster) { deny(Purge)(c); deny(Purge)(c) }, "note permission: these credentials may not purge a session (s, s)"},
	{"no purging", deny(Purge), "note permission: these credentials may not purge a session"},

	{"a reader that cannot publish", func(c *Cluster) { deny(PublishEvents)(c); deny(Purge)(c); c.Role = Reader }, ""},
	{"a recorder that cannot list", func(c *Cluster) { deny(ListSessions)(c); c.Role = Recorder }, ""},
	{"a reader that cannot list", func(c *Cluster) { deny(ListSessions)(c); c.Role = Reader }, "error permission: these credentials may not list the sessions (s)"},
	{"a keeper that cannot purge", func(c *Cluster) { deny(Purge)(c); c.Role = Keeper }, "error permission: these credentials may not purge a session (s)"},

	{"no monitoring", func(c *Cluster) { c.Monitor = nil }, "note sync_interval: how soon the servers write to the disk is not known"},
	{"monitoring that says nothing", func(c *Cluster) { c.Monitor.Servers[0].Fault = "timeout" }, "warning monitor: the monitoring address http://n1.example:8222 says nothing"},
	{"the default of syncing", func(c *Cluster) {
		c.Monitor.Servers[0].SyncAlways, c.Monitor.Servers[0].SyncInterval = false, 2*time.Minute
	}, "note sync_interval: server n1 writes to the disk every 2m"},
	{"syncing later than the hold-back", func(c *Cluster) {
		c.Monitor.Servers[0].SyncAlways, c.Monitor.Servers[0].SyncInterval = false, 10*time.Minute
	}, "error sync_interval: server n1 writes to the disk every 10m"},
	{"a server without room", func(c *Cluster) { c.Monitor.Servers[0].MaxStorage, c.Monitor.Servers[0].Storage = 100, 90 }, "warning disk: JetStream on server n1 uses 90 B of 100 B"},
	{"a clock that is ahead", func(c *Cluster) { c.Clock.Ahead = time.Hour }, "warning clock: this machine's clock is 1h0m0s ahead of the server's"},
	{"a clock that is behind", func(c *Cluster) { c.Clock.Ahead = -time.Hour }, "warning clock: this machine's clock is 1h0m0s behind the server's"},
	{"a slow answer is no wrong clock", func(c *Cluster) { c.Clock = &Clock{Ahead: 8 * time.Second, Latency: 8 * time.Second} }, ""},
	{"far away", func(c *Cluster) { c.Servers[0].RoundTrip = 300 * time.Millisecond }, "note round_trip: server n1 (n1.example:4222) is 300ms away"},
}

// TestCluster: one rule names what a case spoils.
func TestCluster(t *testing.T) {
	for _, test := range clusterCases {
		t.Run(test.name, func(t *testing.T) {
			cluster := well()
			test.spoil(cluster)
			one(t, cluster.Findings(), test.want)
		})
	}
}

// one checks that a list has one finding, and which.
func one(t *testing.T, list []Finding, want string) {
	t.Helper()
	var got []string
	for _, finding := range list {
		got = append(got, fmt.Sprintf("%s %s: %s", finding.Severity, finding.Rule, finding.Found))
		if finding.Why == "" {
			t.Errorf("%s: no reason", finding.Rule)
		}
		if finding.Change == "" && finding.Severity != Note {
			t.Errorf("%s: nothing to do", finding.Rule)
		}
	}
	if want == "" && len(got) == 0 {
		return
	}
	if len(got) != 1 || want == "" || !strings.HasPrefix(got[0], want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestSingleServer: one server is no fault of the stream's, and the advice is to have three.
func TestSingleServer(t *testing.T) {
	cluster := well()
	cluster.Servers = cluster.Servers[:1]
	cluster.Monitor.Servers[0].ClusterSize = 0
	for i := range cluster.Streams {
		cluster.Streams[i].Replicas, cluster.Streams[i].Clustered, cluster.Streams[i].Leader, cluster.Streams[i].Followers = 1, false, "", nil
	}
	list := cluster.Findings()
	if len(list) != 2 || list[0].Severity != Warning || list[0].Rule != "replicas" || !strings.Contains(list[0].Change, "run three servers") {
		t.Errorf("found %+v", list)
	}
}

// TestMissingStream: what keeps the first recorder from making the stream.
func TestMissingStream(t *testing.T) {
	for _, test := range []struct {
		account Account
		want    string
	}{
		{Account{MaxStreams: 4, Streams: 4}, "the account has 4 streams and may have no more"},
		{Account{MaxStreams: -1, MaxBytesNeeded: true}, "the account takes no stream without max_bytes"},
	} {
		cluster := well()
		cluster.Account = &test.account
		cluster.Streams[0] = Stream{Name: "MCPREC", Missing: true}
		if list := cluster.Findings(); len(list) != 2 || list[0].Severity != Error || list[0].Found != test.want {
			t.Errorf("found %+v, want %s", list, test.want)
		}
	}
}

// TestGravestFirst: the gravest findings come first, and the others keep the order of the rules.
func TestGravestFirst(t *testing.T) {
	cluster := well()
	cluster.Monitor = nil                           // a note
	cluster.Servers[0].TLS = false                  // a warning
	cluster.Clock = &Clock{Ahead: -2 * time.Minute} // a warning
	cluster.Streams[1].Sealed = true                // an error
	var rules []string
	list := cluster.Findings()
	for _, finding := range list {
		rules = append(rules, finding.Rule)
	}
	if want := []string{"sealed", "tls", "clock", "sync_interval"}; !slices.Equal(rules, want) {
		t.Errorf("rules %q, want %q", rules, want)
	}
	if Worst(list) != Error || Worst(list[1:]) != Warning || Worst(nil) != "" {
		t.Errorf("the worst of %+v", list)
	}
}

func TestBucket(t *testing.T) {
	no, yes := false, true
	fine, refused := "", "access denied"
	for _, test := range []struct {
		name  string
		spoil func(*Bucket)
		want  string
	}{
		{"nothing is wrong", func(*Bucket) {}, ""},
		{"no answer", func(b *Bucket) { b.Fault = "no such bucket" }, "error bucket: the bucket does not answer: no such bucket"},
		{"no writing", func(b *Bucket) { b.Put, b.PutIfAbsent = &refused, nil }, "error put: these credentials cannot put: access denied"},
		{"no reading", func(b *Bucket) { b.Get = &refused }, "error get:"},
		{"no listing", func(b *Bucket) { b.List = &refused }, "error list:"},
		{"no deleting", func(b *Bucket) { b.Delete = &refused }, "note delete:"},
		{"writes over", func(b *Bucket) { b.PutIfAbsent = &no }, "error put_if_absent:"},
		{"a probe is left", func(b *Bucket) { b.Probe = "v1/probe" }, "note probe: the probe object v1/probe"},
		{"no TLS", func(b *Bucket) { b.TLS = false }, "warning tls:"},
		{"no TLS on this machine", func(b *Bucket) { b.TLS, b.Host = false, "localhost:9000" }, ""},
		{"a clock that is off", func(b *Bucket) { b.Clock.Ahead = -2 * time.Minute }, "warning clock:"},
		{"a clock with which nothing is signed", func(b *Bucket) { b.Clock.Ahead = 20 * time.Minute }, "error clock:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bucket := &Bucket{Host: "s3.example", TLS: true, List: &fine, Put: &fine, Get: &fine, Delete: &fine, PutIfAbsent: &yes, Clock: &Clock{}}
			test.spoil(bucket)
			one(t, bucket.Findings(), test.want)
		})
	}
}

func TestFolder(t *testing.T) {
	fine, refused := "", "not supported"
	for _, test := range []struct {
		name  string
		spoil func(*Folder)
		want  string
	}{
		{"nothing is wrong", func(*Folder) {}, ""},
		{"not there yet", func(f *Folder) { f.Missing = true }, "note folder: there is no folder /d yet"},
		{"not to be used", func(f *Folder) { f.Fault = "/d is read-only" }, "error folder: /d is read-only"},
		{"open to others", func(f *Folder) { f.Open = "/d/store" }, "warning rights: others of this machine may read /d/store"},
		{"no locks", func(f *Folder) { f.Locks = &refused }, "error locks: file locks do not work there: not supported"},
		{"on a network", func(f *Folder) { f.FileSystem, f.Network = "nfs", true }, "warning file_system: /d is on nfs"},
		{"no room", func(f *Folder) { f.Free = 1 << 20 }, "error space: the disk of /d has 1 MiB left"},
		{"less room than the budget", func(f *Folder) { f.Free = 1 << 30 }, "warning space: the disk of /d has 1 GiB left, and the store may grow by 1.5 GiB"},
		{"room that is not known", func(f *Folder) { f.Free = -1 }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := &Folder{Path: "/d", FileSystem: "ext4", Free: 50 << 30, Budget: 2 << 30, Used: 512 << 20, Locks: &fine}
			test.spoil(folder)
			one(t, folder.Findings(), test.want)
		})
	}
}

func TestOutbox(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*Outbox)
		want  string
	}{
		{"nothing waits", func(*Outbox) {}, ""},
		{"a live recorder sends", func(o *Outbox) { o.Sessions, o.Live, o.Bytes = 1, 1, 10 }, ""},
		{"a session of a dead recorder", func(o *Outbox) { o.Sessions, o.Dead = 1, 1 }, "warning outbox: 1 session of recorders that have ended waits for nats://h/M"},
		{"fairly full", func(o *Outbox) { o.Bytes = 85 }, "warning outbox: the outbox for nats://h/M has 85 B of 100 B"},
		{"nearly full", func(o *Outbox) { o.Bytes = 99 }, "error outbox: the outbox for nats://h/M has 99 B of 100 B"},
		{"damage", func(o *Outbox) { o.Problems = []string{"spool x: damaged"} }, "error outbox: in the outbox for nats://h/M: spool x: damaged"},
		{"no room", func(o *Outbox) { o.Free = 1 << 20 }, "error space:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			outbox := &Outbox{Address: "nats://h/M", Path: "/o", Limit: 100, Free: 1 << 40}
			test.spoil(outbox)
			one(t, outbox.Findings(), test.want)
		})
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 30: "1 GiB", 5 << 40: "5 TiB", 5000 << 40: "5000 TiB"} {
		if got := size(bytes); got != want {
			t.Errorf("size(%d) = %s, want %s", bytes, got, want)
		}
	}
}
