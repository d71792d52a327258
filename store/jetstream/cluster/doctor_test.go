package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/diagnosis"
	"github.com/mcprec/mcprec/store/jetstream"
)

// examine gathers the facts of a store and returns the rules that find something, as
// "severity rule", each once.
func examine(t *testing.T, url string, monitor ...string) (*diagnosis.Cluster, []string) {
	t.Helper()
	options, err := jetstream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	facts := jetstream.Inspect(ctx, options, monitor)
	facts.Needs.HoldBack = 5 * time.Minute
	var rules []string
	for _, finding := range facts.Findings() {
		rules = append(rules, fmt.Sprintf("%s %s", finding.Severity, finding.Rule))
	}
	return facts, slices.Compact(rules)
}

// monitors returns the monitoring addresses of the nodes.
func (c *Cluster) monitors() (list []string) {
	for _, node := range c.Nodes {
		list = append(list, fmt.Sprintf("http://127.0.0.1:%d", node.ports.monitor))
	}
	return list
}

// fill makes the streams of a store as mcprec does, with a session in them.
func fill(t *testing.T, url string) {
	t.Helper()
	options, err := jetstream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	db, err := jetstream.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	header := store.Header{ID: "019a0000-0000-7000-8000-000000000001", Start: time.Now()}
	opened := store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()}
	if _, err := db.Append(t.Context(), header.ID, 0, []store.Event{opened}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func expectRules(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestDoctor: before there are streams, with those that mcprec makes, and with a node that is down.
// The streams stay as they are.
func TestDoctor(t *testing.T) {
	c := Start(t, Options{Nodes: 3})
	url := c.URL("MCPREC", "")
	_, rules := examine(t, url, c.monitors()...)
	expectRules(t, rules, "note stream", "note sync_interval")
	fill(t, url)
	before := c.WaitCurrent("MCPREC")
	meta := c.WaitCurrent("MCPREC_META")
	facts, rules := examine(t, url, c.monitors()...)
	expectRules(t, rules, "warning max_bytes", "note sync_interval")
	if len(facts.Servers) != 3 || facts.Servers[0].Version == "" || facts.Servers[0].RoundTrip == 0 || facts.Clock == nil || facts.Clock.Ahead.Abs() > time.Minute {
		t.Errorf("facts: %+v", facts)
	}
	if after := c.WaitCurrent("MCPREC"); after != before {
		t.Errorf("stream was %+v and is %+v", before, after)
	}
	if after := c.WaitCurrent("MCPREC_META"); after != meta {
		t.Errorf("meta stream was %+v and is %+v", meta, after)
	}

	down := c.Nodes[0]
	if c.Leader("MCPREC") == down {
		down = c.Nodes[1]
	}
	down.Kill()
	wait(t, "the stream knows that a node is down", func() error {
		facts, rules = examine(t, url)
		if !slices.Contains(rules, "warning followers") || !slices.Contains(rules, "warning server") {
			return fmt.Errorf("found %q", rules)
		}
		return nil
	})
	for _, finding := range facts.Findings() {
		if finding.Rule == "followers" && !strings.Contains(finding.Found, down.Name) {
			t.Errorf("%s, and %s was killed", finding.Found, down.Name)
		}
	}
	for _, node := range c.Nodes {
		node.Kill()
	}
	_, rules = examine(t, url)
	expectRules(t, rules, "error server")
}

// TestDoctorBadStreams: the settings by which events are lost are told from a real server's answers.
func TestDoctorBadStreams(t *testing.T) {
	c := Start(t, Options{Nodes: 3})
	_, js := c.Connect()
	_, err := js.CreateStream(t.Context(), api.StreamConfig{
		Name: "BAD", Subjects: []string{"bad.s.*"}, Storage: api.FileStorage, Replicas: 1, Discard: api.DiscardOld,
		MaxBytes: 1000, MaxAge: time.Minute, AllowDirect: true, MaxMsgSize: 400, MaxMsgsPerSubject: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), api.StreamConfig{Name: "BAD_META", Subjects: []string{"elsewhere.*"}, Storage: api.MemoryStorage, Replicas: 3, Retention: api.InterestPolicy})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := js.Publish(t.Context(), "bad.s.x", make([]byte, 200)); err != nil {
			t.Fatal(err)
		}
	}
	// Nodes that have just found each other may lose a request.
	wait(t, "every bad setting is told", func() error {
		facts, _ := examine(t, c.URL("BAD", ""))
		found := map[string]bool{}
		for _, finding := range facts.Findings() {
			found[finding.Rule] = true
		}
		for _, rule := range []string{"replicas", "discard", "max_age", "max_message", "max_per_subject", "allow_direct", "atomic_publish", "room", "storage", "retention", "subjects"} {
			if !found[rule] {
				return fmt.Errorf("rule %s finds nothing: %+v", rule, facts.Streams)
			}
		}
		return nil
	})
}

// TestDoctorPermissions: what a user may not do is told, and no other thing.
func TestDoctorPermissions(t *testing.T) {
	c := Start(t, Options{Nodes: 1, Accounts: true, TLS: true})
	fill(t, c.URL("MCPREC", c.Accounts.AddUser("first")))
	recorder := []string{"mcprec.s.*", "mcprec.m.>", "$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*"}
	for _, test := range []struct {
		name        string
		permissions jwt.Permissions
		denied      []diagnosis.Action
	}{
		{"recorder", jwt.Permissions{Pub: jwt.Permission{Allow: recorder}, Sub: jwt.Permission{Allow: []string{"_INBOX.>"}}}, []diagnosis.Action{diagnosis.Consume, diagnosis.ListSessions, diagnosis.Purge}},
		{"reader", jwt.Permissions{Pub: jwt.Permission{Deny: []string{"mcprec.>", "$JS.API.STREAM.PURGE.*"}}}, []diagnosis.Action{diagnosis.PublishEvents, diagnosis.PublishSummary, diagnosis.Purge}},
		{"deaf", jwt.Permissions{Sub: jwt.Permission{Allow: []string{"news"}}}, []diagnosis.Action{diagnosis.Receive}},
		{"all", jwt.Permissions{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts, _ := examine(t, c.URL("MCPREC", c.Accounts.AddUserWith(test.name, test.permissions)))
			var denied []diagnosis.Action
			for _, permission := range facts.Permissions {
				if permission.Fault != "" {
					t.Errorf("%+v", permission)
				}
				if permission.Denied {
					denied = append(denied, permission.Action)
				}
			}
			slices.Sort(denied)
			if want := slices.Sorted(slices.Values(test.denied)); !slices.Equal(slices.Compact(denied), want) {
				t.Errorf("denied %q, want %q", denied, want)
			}
			if !facts.Credentials || len(facts.Servers) == 0 || !facts.Servers[0].TLS {
				t.Errorf("credentials %v, servers %+v", facts.Credentials, facts.Servers)
			}
		})
	}
	if c.WaitCurrent("MCPREC").Messages == 0 {
		t.Error("the stream was purged")
	}
}
