package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cluster is what could be learned of a NATS JetStream store.
type Cluster struct {
	Address     string       `json:"address"` // of the store, without credentials
	Servers     []Server     `json:"servers"`
	Credentials bool         `json:"credentials"` // the connection has shown some, or a certificate
	JetStream   bool         `json:"jetstream"`
	Fault       string       `json:"fault,omitempty"` // why JetStream did not answer
	MaxPayload  int64        `json:"max_payload"`     // bytes of a message that the server takes
	Account     *Account     `json:"account"`
	Streams     []Stream     `json:"streams"`
	Permissions []Permission `json:"permissions"`
	Clock       *Clock       `json:"clock"`
	Monitor     *Monitor     `json:"monitor"` // nil if no monitoring address was given
	Needs       Needs        `json:"needs"`
	Role        Role         `json:"role,omitempty"` // of the credentials; "" and Any: not said
}

// Role is what credentials are for.
type Role string

// The roles of docs/shared-store.md.
const (
	Any      Role = "any"
	Recorder Role = "recorder" // records, and sends what is left
	Reader   Role = "reader"   // lists and reads
	Keeper   Role = "keeper"   // deletes as well
)

// lacks lists the actions that the credentials of a role need not allow.
var lacks = map[Role][]Action{
	Recorder: {Consume, ListSessions, Purge},
	Reader:   {PublishEvents, PublishSummary, Purge},
	Keeper:   nil,
}

// Needs is what mcprec's adapter asks of a cluster.
type Needs struct {
	MinMessage int64         `json:"min_message"`  // bytes that a message must be able to have, headers included
	MaxMessage int64         `json:"max_message"`  // bytes of the largest message that it sends
	HoldBack   time.Duration `json:"hold_back_ns"` // how long an outbox keeps what was acknowledged
}

// Server is a server of the cluster.
type Server struct {
	Address   string        `json:"address"` // host and port
	Name      string        `json:"name,omitempty"`
	Version   string        `json:"version,omitempty"`
	TLS       bool          `json:"tls"`
	RoundTrip time.Duration `json:"round_trip_ns"`
	Fault     string        `json:"fault,omitempty"` // why it could not be reached; "": it was
	Named     bool          `json:"named"`           // it stands in the address of the store
}

// Account is the account of the credentials: what it may use, and uses. A limit of -1 is none.
type Account struct {
	Storage        int64 `json:"storage"`
	MaxStorage     int64 `json:"max_storage"`
	Streams        int64 `json:"streams"`
	MaxStreams     int64 `json:"max_streams"`
	MaxBytesNeeded bool  `json:"max_bytes_required"` // a stream without a limit is refused
	MaxStreamBytes int64 `json:"max_stream_bytes"`   // of one stream; 0 and -1: no limit
	MaxConsumers   int64 `json:"max_consumers"`
	Consumers      int64 `json:"consumers"`
	Tiered         bool  `json:"tiered"` // the limits hold for each number of replicas by itself
}

// Stream is one of the two streams of a store.
type Stream struct {
	Name     string `json:"name"`
	Sessions bool   `json:"sessions"`        // it holds the events; otherwise a message about each session
	Missing  bool   `json:"missing"`         // there is no such stream yet
	Fault    string `json:"fault,omitempty"` // why nothing is known of it

	Storage       string        `json:"storage"` // "file" or "memory"
	Replicas      int           `json:"replicas"`
	Retention     string        `json:"retention"` // "limits", "interest" or "workqueue"
	Discard       string        `json:"discard"`   // "new" or "old"
	AllowDirect   bool          `json:"allow_direct"`
	AtomicPublish bool          `json:"atomic_publish"`
	MaxMessage    int64         `json:"max_message"` // -1: that of the server
	MaxBytes      int64         `json:"max_bytes"`   // -1: none
	Bytes         int64         `json:"bytes"`
	MaxMessages   int64         `json:"max_messages"` // -1: none
	Messages      int64         `json:"messages"`
	MaxPerSubject int64         `json:"max_per_subject"` // -1: none
	MaxAge        time.Duration `json:"max_age_ns"`      // 0: none
	Duplicates    time.Duration `json:"duplicate_window_ns"`
	Sealed        bool          `json:"sealed"`
	DenyPurge     bool          `json:"deny_purge"`
	Mirror        bool          `json:"mirror"`   // a copy of another stream, to which nobody can publish
	Subjects      []string      `json:"subjects"` // which it takes
	Wanted        string        `json:"wanted"`   // the subjects that mcprec publishes to
	Leader        string        `json:"leader"`
	Clustered     bool          `json:"clustered"` // its servers are a cluster
	Followers     []Follower    `json:"followers"`
}

// Follower is a replica of a stream that is not its leader.
type Follower struct {
	Name    string        `json:"name"`
	Current bool          `json:"current"`
	Offline bool          `json:"offline"`
	Lag     uint64        `json:"lag"` // operations behind the leader
	Heard   time.Duration `json:"heard_ns"`
}

// Permission is what the credentials may do.
type Permission struct {
	Action  Action `json:"action"`
	Subject string `json:"subject"`
	Denied  bool   `json:"denied"`
	Fault   string `json:"fault,omitempty"` // why it is not known
}

// Action is a thing that mcprec does with a stream.
type Action string

// The actions that need a permission.
const (
	PublishEvents  Action = "publish events"
	PublishSummary Action = "publish summaries"
	ReadStream     Action = "read a stream's state"
	GetMessage     Action = "get a message"
	Consume        Action = "make a consumer"
	ListSessions   Action = "list the sessions"
	Purge          Action = "purge a session"
	Receive        Action = "receive answers"
)

// Monitor is what the monitoring addresses of servers say.
type Monitor struct {
	Servers []MonitoredServer `json:"servers"`
}

// MonitoredServer is a server with a monitoring address.
type MonitoredServer struct {
	Address      string        `json:"address"` // the monitoring address
	Name         string        `json:"name,omitempty"`
	Fault        string        `json:"fault,omitempty"` // why it said nothing
	SyncAlways   bool          `json:"sync_always"`
	SyncInterval time.Duration `json:"sync_interval_ns"`
	MaxStorage   int64         `json:"max_storage"` // for JetStream, on that server
	Storage      int64         `json:"storage"`
	ClusterSize  int           `json:"cluster_size"` // 0: not known
}

// Findings applies the rules for a cluster.
func (c *Cluster) Findings() []Finding {
	var found findings
	if !c.reachable(&found) {
		return found.sorted()
	}
	if !c.JetStream {
		found.add(Error, "jetstream", fmt.Sprintf("JetStream does not answer: %s", c.Fault),
			"sessions are kept in JetStream; recorders keep theirs in their outboxes until it answers",
			"turn it on in each server's configuration (jetstream { store_dir: … }), and for the account")
		return found.sorted()
	}
	c.protection(&found)
	c.payload(&found)
	for i := range c.Streams {
		c.stream(&found, &c.Streams[i])
	}
	c.account(&found)
	c.permissions(&found)
	c.syncing(&found)
	c.clock(&found)
	c.distance(&found)
	return found.sorted()
}

// size returns how many servers the cluster has, as far as that is known.
func (c *Cluster) size() int {
	names := map[string]bool{}
	for _, server := range c.Servers {
		if server.Fault == "" {
			names[server.Name] = true
		}
	}
	most := len(names)
	for _, stream := range c.Streams {
		most = max(most, len(stream.Followers)+1)
	}
	if c.Monitor != nil {
		for _, server := range c.Monitor.Servers {
			most = max(most, server.ClusterSize)
		}
	}
	return most
}

// reachable says which servers do not answer and which are too old. It reports whether one answers.
func (c *Cluster) reachable(found *findings) bool {
	reached := slices.ContainsFunc(c.Servers, func(server Server) bool { return server.Fault == "" })
	for _, server := range c.Servers {
		switch {
		case server.Fault == "":
			if major, minor, ok := release(server.Version); ok && (major < 2 || major == 2 && minor < 12) {
				found.add(Error, "version", fmt.Sprintf("server %s is nats-server %s", server.label(), server.Version),
					"an event larger than a message goes as an atomic batch, which a server before 2.12 does not know: such an event is cut. Before 2.11 nothing is stored at all",
					"upgrade it to 2.12 or later")
			}
		case !reached:
			found.add(Error, "server", fmt.Sprintf("server %s does not answer: %s", server.Address, server.Fault),
				"no server of this address can be reached: recorders keep their sessions in their outboxes, and nothing can be read",
				"compare the address with the server's configuration; look for a firewall between this machine and it")
		case server.Named:
			found.add(Warning, "server", fmt.Sprintf("server %s does not answer: %s", server.Address, server.Fault),
				"the store works through the others, and a failure more may stop it",
				"start it, or take it out of the address if it is gone")
		default:
			found.add(Note, "server", fmt.Sprintf("server %s, which the others name, cannot be reached from here: %s", server.Address, server.Fault),
				"this machine cannot go on there when the server that it uses fails",
				"let it in, or set client_advertise on it to an address that this machine reaches")
		}
	}
	return reached
}

func (s *Server) label() string {
	if s.Name == "" || s.Name == s.Address {
		return s.Address
	}
	return s.Name + " (" + s.Address + ")"
}

// release reads a version such as 2.12.0-beta.
func release(version string) (major, minor int, ok bool) {
	n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor)
	return major, minor, n == 2
}

// protection says what others on the network can see and do.
func (c *Cluster) protection(found *findings) {
	var open []string
	far := false
	for _, server := range c.Servers {
		if server.Fault != "" || isLocal(server.Address) {
			continue
		}
		far = true
		if !server.TLS {
			open = append(open, server.Address)
		}
	}
	if len(open) > 0 {
		found.add(Warning, "tls", fmt.Sprintf("the connection to %s is not encrypted", strings.Join(open, ", ")),
			"anybody who can listen on the network can read what is recorded, and a password too",
			"give the servers a certificate (tls { … }), and use tls:// or &tls=true in the address")
	}
	if far && !c.Credentials {
		found.add(Warning, "credentials", "the servers let this machine in without credentials",
			"whoever reaches them reads and deletes every session",
			"set up accounts and users, and name a file of credentials in the address (?creds=FILE)")
	}
}

func (c *Cluster) payload(found *findings) {
	switch {
	case c.MaxPayload <= 0:
	case c.MaxPayload < c.Needs.MinMessage:
		found.add(Error, "max_payload", fmt.Sprintf("the servers take messages of at most %s", size(c.MaxPayload)),
			fmt.Sprintf("mcprec needs %s, and refuses these servers", size(c.Needs.MinMessage)), "set max_payload: 1MB, which is the default, on every server")
	case c.MaxPayload < c.Needs.MaxMessage:
		found.add(Note, "max_payload", fmt.Sprintf("the servers take messages of at most %s", size(c.MaxPayload)),
			fmt.Sprintf("mcprec sends messages of up to %s where it may; smaller ones are slower", size(c.Needs.MaxMessage)), "set max_payload: 1MB, which is the default, on every server")
	}
}

// account says which limits of the account are near.
func (c *Cluster) account(found *findings) {
	account := c.Account
	if account == nil {
		return
	}
	if used := full(account.Storage, account.MaxStorage); used >= fairlyFull {
		found.add(severityOf(used), "account", fmt.Sprintf("the account uses %s of %s", size(account.Storage), size(account.MaxStorage)), whenFull,
			"delete sessions (mcprec store prune, mcprec store archive --delete), or raise the account's max_file")
	}
	missing := slices.ContainsFunc(c.Streams, func(stream Stream) bool { return stream.Missing })
	if missing && account.MaxStreams > 0 && account.Streams >= account.MaxStreams {
		found.add(Error, "account", fmt.Sprintf("the account has %d streams and may have no more", account.Streams),
			"the streams of this store are not there yet, and cannot be made", "raise the account's max_streams by 2")
	}
	if missing && account.MaxBytesNeeded {
		found.add(Error, "account", "the account takes no stream without max_bytes",
			"the stream that the first recorder makes has none, and is refused",
			"make the streams beforehand with max_bytes; docs/shared-store.md has the commands")
	}
}

// permissions says what the credentials may not do, and what does not work without it.
func (c *Cluster) permissions(found *findings) {
	type need struct {
		severity Severity
		without  string
	}
	needs := map[Action]need{
		PublishEvents:  {Error, "a recorder with these credentials ships nothing: its outbox fills, and then events are lost. For someone who only reads this is right: --role reader"},
		PublishSummary: {Error, "a recorder with these credentials cannot claim a session, and ships nothing. For someone who only reads this is right: --role reader"},
		ReadStream:     {Error, "neither a recorder nor a reader finds the store"},
		GetMessage:     {Error, "a recorder cannot ask what has arrived, and its outbox is never emptied; nobody reads a session"},
		Consume:        {Warning, "show, tail and why do not work with these credentials. For a recorder this is right"},
		ListSessions:   {Warning, "list does not work with these credentials. For a recorder this is right"},
		Receive:        {Error, "neither a recorder nor a reader hears what the server answers"},
		Purge:          {Note, "rm, prune and archive --delete do not work with these credentials. For a recorder this is right"},
	}
	subjects := map[Action][]string{}
	var denied []Action
	for _, permission := range c.Permissions {
		if permission.Denied && !slices.Contains(lacks[c.Role], permission.Action) {
			subjects[permission.Action] = append(subjects[permission.Action], permission.Subject)
			denied = append(denied, permission.Action)
		}
	}
	for _, action := range slices.Compact(slices.Sorted(slices.Values(denied))) {
		verb := "publish"
		if action == Receive {
			verb = "subscribe"
		}
		severity := needs[action].severity
		if _, isRole := lacks[c.Role]; isRole { // its work needs what it does not lack
			severity = Error
		}
		found.add(severity, "permission", fmt.Sprintf("these credentials may not %s (%s)", action, strings.Join(subjects[action], ", ")),
			needs[action].without, "allow the user to "+verb+" to "+strings.Join(subjects[action], " and "))
	}
}

// syncing says what a power cut costs. Servers write what they have acknowledged to the disk every
// sync_interval.
func (c *Cluster) syncing(found *findings) {
	holdBack := c.Needs.HoldBack
	if c.Monitor == nil {
		found.add(Note, "sync_interval", "how soon the servers write to the disk is not known: an ordinary account cannot ask for it",
			fmt.Sprintf("with the default, 2 minutes, a power cut of all servers takes what they acknowledged last; recorders keep it for %v longer and send it again", holdBack),
			"mcprec store doctor --monitor http://HOST:8222 asks; set sync_interval: always where recorders' machines go away with their sessions")
		return
	}
	for _, server := range c.Monitor.Servers {
		name := server.Name
		if name == "" {
			name = server.Address
		}
		switch {
		case server.Fault != "":
			found.add(Warning, "monitor", fmt.Sprintf("the monitoring address %s says nothing: %s", server.Address, server.Fault),
				"how soon that server writes to the disk is not known", "give the address of http_port or monitor_port in its configuration")
			continue
		case server.SyncAlways:
		case server.SyncInterval > holdBack/2:
			found.add(Error, "sync_interval", fmt.Sprintf("server %s writes to the disk every %v", name, server.SyncInterval),
				fmt.Sprintf("recorders keep what was acknowledged for %v: what a power cut of all servers takes may be gone from them, too", holdBack),
				"set sync_interval: always, or 2m, which is the default, in its jetstream { … }")
		default:
			found.add(Note, "sync_interval", fmt.Sprintf("server %s writes to the disk every %v", name, server.SyncInterval),
				fmt.Sprintf("a power cut of all servers takes what they acknowledged last; recorders keep it for %v and send it again", holdBack),
				"set sync_interval: always where recorders' machines go away with their sessions")
		}
		if used := full(server.Storage, server.MaxStorage); used >= fairlyFull {
			found.add(Warning, "disk", fmt.Sprintf("JetStream on server %s uses %s of %s", name, size(server.Storage), size(server.MaxStorage)),
				"a server without room refuses to write", "raise max_file_store, or delete sessions")
		}
	}
}

// clock says whether this machine's clock is off. No decision of mcprec depends on it.
func (c *Cluster) clock(found *findings) {
	if off := c.Clock.off(); off > 5*time.Second {
		found.add(Warning, "clock", fmt.Sprintf("this machine's clock is %v %s the server's", off.Round(time.Second), c.Clock.side()),
			"sessions of this machine have the wrong start in lists, and why is wrong by as much about how long a live session waits; --since and --older-than count from it. Whether a session is live, only the server's clock says",
			"let this machine keep its time, as with chrony or systemd-timesyncd")
	}
}

// distance says whether the servers are far away.
func (c *Cluster) distance(found *findings) {
	for _, server := range c.Servers {
		if server.Fault == "" && server.RoundTrip > 200*time.Millisecond {
			found.add(Note, "round_trip", fmt.Sprintf("server %s is %v away", server.label(), server.RoundTrip.Round(time.Millisecond)),
				"tail -f and why see a session that much later; recording waits for nothing", "use servers that are nearer, or a leaf node")
		}
	}
}
