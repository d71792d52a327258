package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcprec/mcprec/store/diagnosis"
)

// answerIn is how long one server may take for an answer.
const answerIn = 2 * time.Second

// inspected is one of the two streams of a store.
type inspected struct {
	name       string
	subject    string // what mcprec publishes to, with a wildcard
	isSessions bool   // it holds the events
}

// Inspect gathers what can be learned of a store. Every server of the options is asked by itself, and
// those that they name, too. Nothing in the store changes: what tries a permission is a request that the
// server refuses for another reason. monitor are the monitoring URLs of servers, as http://host:8222,
// which say what an ordinary account may not know. The facts name a server that does not answer.
func Inspect(ctx context.Context, options Options, monitor []string) *diagnosis.Cluster {
	facts := &diagnosis.Cluster{
		Address: options.URL(),
		Needs:   diagnosis.Needs{MinMessage: minMessage + headerRoom, MaxMessage: maxMessage + headerRoom},
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	if len(monitor) > 0 {
		beside.Go(func() { facts.Monitor = askMonitors(ctx, monitor) })
	}
	probes := probeAll(strings.Split(options.addresses(), ","), true, options)
	defer func() {
		for _, p := range probes {
			p.close()
		}
	}()
	var others []string
	for _, p := range probes {
		if p.conn != nil {
			others = append(others, p.conn.DiscoveredServers()...)
		}
	}
	probes = append(probes, probeAll(notAmong(others, probes), false, options)...)
	var first *probe
	for _, p := range probes {
		facts.Servers = append(facts.Servers, p.facts)
		if first == nil && p.conn != nil {
			first = p
		}
	}
	if first == nil {
		return facts
	}
	facts.MaxPayload = first.conn.MaxPayload()
	facts.Credentials = first.conn.AuthRequired()
	if facts.Account, facts.Fault = first.account(ctx); facts.Fault != "" {
		return facts
	}
	facts.JetStream = true
	if denied := first.mayNotReceive(); denied != "" {
		facts.Permissions = []diagnosis.Permission{{Action: diagnosis.Receive, Subject: denied, Denied: true}}
		return facts
	}
	lower := strings.ToLower(options.stream())
	streams := []inspected{{options.stream(), lower + ".s.*", true}, {options.stream() + "_META", lower + ".m.>", false}}
	for _, stream := range streams {
		found, clock := first.stream(ctx, stream)
		facts.Streams = append(facts.Streams, found)
		if facts.Clock == nil {
			facts.Clock = clock
		}
	}
	facts.Permissions = first.permissions(ctx, streams)
	return facts
}

// probe is a connection to one server, which never changes to another.
type probe struct {
	facts   diagnosis.Server
	conn    *nats.Conn // nil if the server does not answer
	mutex   sync.Mutex
	waiting map[string]context.CancelCauseFunc // by the subject of a request
	inbox   string                             // the subject of answers, if they may not be received
}

func (p *probe) close() {
	if p.conn != nil {
		p.conn.Close()
	}
}

// probeAll connects to each server, all at once. named: they stand in the address.
func probeAll(servers []string, named bool, options Options) []*probe {
	probes := make([]*probe, len(servers))
	var connecting sync.WaitGroup
	for i, server := range servers {
		connecting.Go(func() { probes[i] = connectTo(server, named, options) })
	}
	connecting.Wait()
	return probes
}

func connectTo(server string, named bool, options Options) *probe {
	p := &probe{facts: diagnosis.Server{Address: hostOf(server), Named: named}, waiting: map[string]context.CancelCauseFunc{}}
	conn, err := nats.Connect(server, append(options.protection(),
		nats.NoReconnect(), nats.DontRandomize(), nats.Timeout(answerIn), nats.RetryOnFailedConnect(false), nats.Name("mcprec store doctor"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { p.refused(err) }))...)
	if errors.Is(err, nats.ErrNoServers) { // which hides why
		var plain net.Conn
		plain, err = net.DialTimeout("tcp", p.facts.Address, answerIn)
		if err == nil {
			err = errors.Join(errors.New("it ends the connection before it says what it is"), plain.Close())
		}
	}
	if err != nil {
		p.facts.Fault = err.Error()
		return p
	}
	p.facts.RoundTrip, err = conn.RTT()
	if err != nil {
		conn.Close()
		p.facts.Fault = err.Error()
		return p
	}
	p.conn = conn
	p.facts.Name = conn.ConnectedServerName()
	p.facts.Version = conn.ConnectedServerVersion()
	_, err = conn.TLSConnectionState()
	p.facts.TLS = err == nil
	return p
}

// hostOf returns the host and port of a URL.
func hostOf(server string) string {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Host == "" {
		return server
	}
	if parsed.Port() == "" {
		return net.JoinHostPort(parsed.Hostname(), "4222")
	}
	return parsed.Host
}

// notAmong returns the servers of a list that no probe is of: by address, or because a server of
// that name answered already under another one.
func notAmong(servers []string, probes []*probe) (list []string) {
	for _, server := range servers {
		host := hostOf(server)
		isKnown := slices.ContainsFunc(probes, func(p *probe) bool {
			return p.facts.Address == host || p.conn != nil && hostOf(p.conn.ConnectedUrlRedacted()) == host
		})
		if !isKnown && !slices.Contains(list, server) {
			list = append(list, server)
		}
	}
	return list
}

// errDenied: the server refuses the request because of a permission.
var errDenied = errors.New("permission denied")

// refused takes what a server says beside the answers: that something is not permitted.
func (p *probe) refused(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, inbox, isInbox := strings.Cut(err.Error(), `Subscription to "`); isInbox {
		p.inbox = strings.TrimSuffix(inbox, `"`)
	}
	for subject, end := range p.waiting {
		if p.inbox != "" || strings.Contains(err.Error(), `"`+subject+`"`) {
			end(errDenied)
		}
	}
}

// mayNotReceive returns the subject of answers if the server does not let this user have them.
func (p *probe) mayNotReceive() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.inbox
}

// ask makes a request of the server, and returns the answer, or errDenied.
func (p *probe) ask(ctx context.Context, subject string, data []byte, header nats.Header) ([]byte, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ctx, stop := context.WithTimeout(ctx, answerIn)
	defer stop()
	p.mutex.Lock()
	p.waiting[subject] = end
	p.mutex.Unlock()
	defer func() {
		p.mutex.Lock()
		delete(p.waiting, subject)
		p.mutex.Unlock()
	}()
	if p.mayNotReceive() != "" {
		return nil, errDenied
	}
	answer, err := p.conn.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Data: data, Header: header})
	if cause := context.Cause(ctx); errors.Is(cause, errDenied) {
		return nil, errDenied
	}
	if err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// refusedRequest is how JetStream refuses a request.
type refusedRequest struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// call asks the JetStream API and reads the answer into result. The refusal is nil if the API did
// what was asked.
func (p *probe) call(ctx context.Context, subject string, request []byte, result any) (refusal *refusedRequest, _ error) {
	data, err := p.ask(ctx, subject, request, nil)
	if err != nil {
		return nil, err
	}
	var envelope struct {
		Error *refusedRequest `json:"error"`
	}
	err = json.Unmarshal(data, &envelope)
	if err == nil && envelope.Error == nil {
		err = json.Unmarshal(data, result)
	}
	return envelope.Error, err
}

// account asks what the account may use, and why JetStream does not answer, if so.
func (p *probe) account(ctx context.Context) (*diagnosis.Account, string) {
	var answer struct {
		Storage   int64 `json:"storage"`
		Streams   int64 `json:"streams"`
		Consumers int64 `json:"consumers"`
		Limits    struct {
			MaxStorage       int64 `json:"max_storage"`
			MaxStreams       int64 `json:"max_streams"`
			MaxConsumers     int64 `json:"max_consumers"`
			MaxBytesRequired bool  `json:"max_bytes_required"`
			MaxStreamBytes   int64 `json:"storage_max_stream_bytes"`
		} `json:"limits"`
		Tiers map[string]json.RawMessage `json:"tiers"`
	}
	refusal, err := p.call(ctx, "$JS.API.INFO", nil, &answer)
	switch {
	case errors.Is(err, errDenied): // the rest is asked for all the same
		return nil, ""
	case errors.Is(err, nats.ErrNoResponders):
		return nil, "JetStream is not enabled for this account"
	case err != nil:
		return nil, err.Error()
	case refusal != nil:
		return nil, refusal.Description
	}
	return &diagnosis.Account{
		Storage: answer.Storage, MaxStorage: answer.Limits.MaxStorage, Streams: answer.Streams, MaxStreams: answer.Limits.MaxStreams,
		Consumers: answer.Consumers, MaxConsumers: answer.Limits.MaxConsumers, MaxBytesNeeded: answer.Limits.MaxBytesRequired,
		MaxStreamBytes: answer.Limits.MaxStreamBytes, Tiered: len(answer.Tiers) > 0,
	}, ""
}

// noStream is JetStream's error for a stream that is not there.
const noStream = 10059

// streamInfo is the answer of the JetStream API about a stream, as far as it is used.
type streamInfo struct {
	Time   time.Time `json:"ts"`
	Config struct {
		Subjects      []string        `json:"subjects"`
		Retention     string          `json:"retention"`
		Discard       string          `json:"discard"`
		Storage       string          `json:"storage"`
		Replicas      int             `json:"num_replicas"`
		MaxBytes      int64           `json:"max_bytes"`
		MaxMessages   int64           `json:"max_msgs"`
		MaxPerSubject int64           `json:"max_msgs_per_subject"`
		MaxMessage    int64           `json:"max_msg_size"`
		MaxAge        time.Duration   `json:"max_age"`
		Duplicates    time.Duration   `json:"duplicate_window"`
		AllowDirect   bool            `json:"allow_direct"`
		AllowAtomic   bool            `json:"allow_atomic"`
		DenyPurge     bool            `json:"deny_purge"`
		Sealed        bool            `json:"sealed"`
		Mirror        json.RawMessage `json:"mirror"`
	} `json:"config"`
	State struct {
		Messages int64 `json:"messages"`
		Bytes    int64 `json:"bytes"`
	} `json:"state"`
	Cluster *struct {
		Leader   string `json:"leader"`
		Replicas []struct {
			Name    string        `json:"name"`
			Current bool          `json:"current"`
			Offline bool          `json:"offline"`
			Lag     uint64        `json:"lag"`
			Active  time.Duration `json:"active"`
		} `json:"replicas"`
	} `json:"cluster"`
}

// stream asks for a stream, and compares the clocks by the answer.
func (p *probe) stream(ctx context.Context, stream inspected) (diagnosis.Stream, *diagnosis.Clock) {
	facts := diagnosis.Stream{Name: stream.name, Sessions: stream.isSessions, Wanted: stream.subject}
	var info streamInfo
	asked := time.Now()
	refusal, err := p.call(ctx, "$JS.API.STREAM.INFO."+stream.name, nil, &info)
	took := time.Since(asked)
	switch {
	case err != nil:
		facts.Fault = err.Error()
		return facts, nil
	case refusal != nil && refusal.ErrCode == noStream:
		facts.Missing = true
		return facts, nil
	case refusal != nil:
		facts.Fault = refusal.Description
		return facts, nil
	}
	config := info.Config
	facts.Storage, facts.Replicas, facts.Retention, facts.Discard = config.Storage, config.Replicas, config.Retention, config.Discard
	facts.AllowDirect, facts.AtomicPublish, facts.MaxMessage = config.AllowDirect, config.AllowAtomic, config.MaxMessage
	facts.MaxBytes, facts.MaxMessages, facts.MaxPerSubject, facts.MaxAge = config.MaxBytes, config.MaxMessages, config.MaxPerSubject, config.MaxAge
	facts.Duplicates, facts.Sealed, facts.DenyPurge, facts.Subjects = config.Duplicates, config.Sealed, config.DenyPurge, config.Subjects
	facts.Mirror = len(config.Mirror) > 0 && string(config.Mirror) != "null"
	facts.Bytes, facts.Messages = info.State.Bytes, info.State.Messages
	if info.Cluster != nil {
		facts.Leader = info.Cluster.Leader
		for _, replica := range info.Cluster.Replicas {
			facts.Followers = append(facts.Followers, diagnosis.Follower{Name: replica.Name, Current: replica.Current, Offline: replica.Offline, Lag: replica.Lag, Heard: replica.Active})
		}
		facts.Clustered = len(facts.Followers) > 0
	}
	if info.Time.IsZero() {
		return facts, nil
	}
	return facts, &diagnosis.Clock{Ahead: asked.Add(took / 2).Sub(info.Time), Latency: took / 2}
}

// nobody is a session that is never recorded.
const nobody = "00000000-0000-8000-8000-000000000000"

// unfinished is JSON that no server takes for a request.
const unfinished = `{"`

// permissions tries what mcprec does with the streams. Each request is refused for a reason of its
// own once the permission is there, so that nothing changes.
func (p *probe) permissions(ctx context.Context, streams []inspected) []diagnosis.Permission {
	type trial struct {
		action  diagnosis.Action
		subject string
		data    string
		header  nats.Header
	}
	elsewhere := nats.Header{nats.ExpectedStreamHdr: []string{"no-such-stream-of-mcprec"}}
	var trials []trial
	for _, stream := range streams {
		action := diagnosis.PublishEvents
		if !stream.isSessions {
			action = diagnosis.PublishSummary
		}
		subject := strings.TrimRight(stream.subject, "*>") + nobody
		trials = append(trials,
			trial{action, subject, "", elsewhere},
			trial{diagnosis.ReadStream, "$JS.API.STREAM.INFO." + stream.name, "", nil},
			trial{diagnosis.GetMessage, "$JS.API.STREAM.MSG.GET." + stream.name, unfinished, nil},
		)
		if stream.isSessions {
			trials = append(trials,
				trial{diagnosis.Consume, "$JS.API.CONSUMER.CREATE." + stream.name + ".mcprec_doctor." + subject, unfinished, nil},
				trial{diagnosis.Purge, "$JS.API.STREAM.PURGE." + stream.name, unfinished, nil})
		} else {
			trials = append(trials, trial{diagnosis.ListSessions, "$JS.API.DIRECT.GET." + stream.name, unfinished, nil})
		}
	}
	list := make([]diagnosis.Permission, len(trials))
	var trying sync.WaitGroup
	for i, trial := range trials {
		trying.Go(func() {
			found := diagnosis.Permission{Action: trial.action, Subject: trial.subject}
			_, err := p.ask(ctx, trial.subject, []byte(trial.data), trial.header)
			switch {
			case errors.Is(err, errDenied):
				found.Denied = true
			case err != nil && !errors.Is(err, nats.ErrNoResponders): // nobody answers where there is no stream
				found.Fault = err.Error()
			}
			list[i] = found
		})
	}
	trying.Wait()
	return list
}

// askMonitors asks the monitoring addresses, all at once.
func askMonitors(ctx context.Context, addresses []string) *diagnosis.Monitor {
	facts := &diagnosis.Monitor{Servers: make([]diagnosis.MonitoredServer, len(addresses))}
	var asking sync.WaitGroup
	for i, address := range addresses {
		asking.Go(func() {
			server := &facts.Servers[i]
			server.Address = strings.TrimRight(address, "/")
			if err := askMonitor(ctx, server); err != nil {
				server.Fault = err.Error()
			}
		})
	}
	asking.Wait()
	return facts
}

// askMonitor asks one monitoring address.
func askMonitor(ctx context.Context, server *diagnosis.MonitoredServer) error {
	var general struct {
		Name string `json:"server_name"`
	}
	if err := getJSON(ctx, server.Address+"/varz", &general); err != nil {
		return err
	}
	var storage struct {
		Disabled bool  `json:"disabled"`
		Storage  int64 `json:"storage"`
		Config   struct {
			MaxStorage   int64         `json:"max_storage"`
			SyncInterval time.Duration `json:"sync_interval"`
			SyncAlways   bool          `json:"sync_always"`
		} `json:"config"`
		Meta struct {
			Size int `json:"cluster_size"`
		} `json:"meta_cluster"`
	}
	if err := getJSON(ctx, server.Address+"/jsz?config=true", &storage); err != nil {
		return err
	}
	server.Name = general.Name
	if storage.Disabled {
		return fmt.Errorf("JetStream is not enabled on that server")
	}
	server.SyncAlways, server.SyncInterval = storage.Config.SyncAlways, storage.Config.SyncInterval
	server.MaxStorage, server.Storage, server.ClusterSize = storage.Config.MaxStorage, storage.Storage, storage.Meta.Size
	return nil
}

// getJSON reads a page of a server's monitoring.
func getJSON(ctx context.Context, address string, result any) error {
	ctx, stop := context.WithTimeout(ctx, answerIn)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", address, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(result); err != nil {
		return fmt.Errorf("GET %s: %w", address, err)
	}
	return nil
}
