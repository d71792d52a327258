package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
)

const (
	dialTime    = 5 * time.Second // for connecting to one server, and with a deadline to any of them
	requestTime = 2 * time.Second // for one answer
	publishTime = 4 * time.Second
	patience    = 15 * time.Second // with streams without a leader: an election takes four to nine
)

// link is a connection to the servers. It reconnects by itself.
type link struct {
	options Options
	conn    *nats.Conn
	js      api.JetStream
	denied  atomic.Pointer[denial] // the newest request that permissions forbid
	refused atomic.Pointer[denial] // the newest reason to end a connection whose server announces too much
}

// denial is why a request gets no answer: the permissions of the user forbid it, which the server tells apart
// from the request, or the answer is not read.
type denial struct {
	when time.Time
	err  error
}

// dial connects to one of the servers.
func dial(ctx context.Context, options Options) (*link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &link{options: options}
	timeout := dialTime
	if deadline, ok := ctx.Deadline(); ok {
		all := min(dialTime, time.Until(deadline))
		timeout = max(all/time.Duration(len(options.Servers)), time.Millisecond) // one after the other is asked
	}
	dialer := &dialer{timeout: timeout, first: ctx, refuse: func(err error) { l.refused.Store(&denial{time.Now(), err}) }}
	settings := []nats.Option{
		nats.Name(options.Name), nats.Timeout(timeout), nats.SetCustomDialer(dialer), nats.SkipHostLookup(), nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, 250*time.Millisecond),
		// A connection that is half open is given up after half a minute.
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		// Without a connection a request fails at once, and is not kept for later.
		nats.ReconnectBufSize(-1),
		// Credentials that were withdrawn may come back.
		nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				l.denied.Store(&denial{time.Now(), err})
			}
		}),
	}
	var err error
	l.conn, err = nats.Connect(options.addresses(), append(settings, options.protection()...)...)
	dialer.established()
	if errors.Is(ctx.Err(), context.Canceled) { // then an error says only that
		if err == nil {
			l.conn.Close()
		}
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, explainDial(err, options)
	}
	l.js, err = api.New(l.conn, api.WithDefaultTimeout(requestTime))
	if err != nil {
		l.conn.Close()
		return nil, err
	}
	return l, nil
}

// protection returns the settings of TLS and of the user, whose permissions name the inbox.
func (o Options) protection() (settings []nats.Option) {
	if o.Inbox != "" {
		settings = append(settings, nats.CustomInboxPrefix(o.Inbox))
	}
	if o.TLS {
		settings = append(settings, nats.Secure())
	}
	if o.CA != "" {
		settings = append(settings, nats.RootCAs(o.CA))
	}
	if o.Creds != "" {
		settings = append(settings, nats.UserCredentials(o.Creds))
	}
	if user := o.User; user != nil {
		if password, ok := user.Password(); ok {
			settings = append(settings, nats.UserInfo(user.Username(), password))
		} else {
			settings = append(settings, nats.Token(user.Username()))
		}
	}
	return settings
}

// errNoAnswer: nobody listens where the servers should be.
var errNoAnswer = errors.New("no NATS server answers")

// explainDial says what a failure to connect means.
func explainDial(err error, options Options) error {
	servers := strings.Join(options.Servers, ", ")
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("%w at %s", errNoAnswer, servers)
	case errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("the NATS server at %s refuses the user (%w): give a credentials file with creds=FILE", servers, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("the NATS server at %s offers no TLS, which the URL asks for", servers)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission): // of a file
		return fmt.Errorf("read what creds=FILE and ca=FILE of the URL name: %w", err)
	case strings.Contains(err.Error(), "x509:") || strings.Contains(err.Error(), "tls:"):
		return fmt.Errorf("the certificate of the NATS server at %s does not verify: %w; name its authority with ca=FILE", servers, err)
	}
	return fmt.Errorf("connect to NATS at %s: %w", servers, err)
}

// retry calls `call` again while the stream has no leader or the connection is gone, until patience
// or ctx ends. Each call has its own time.
func (l *link) retry(ctx context.Context, call func(ctx context.Context) error) error {
	began := time.Now()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		if ctx.Err() != nil {
			return late(ctx)
		}
		once, cancel := context.WithTimeout(ctx, requestTime)
		err := call(once)
		cancel()
		switch {
		case ctx.Err() != nil:
			return late(ctx)
		case err != nil && l.refusedSince(began) != nil:
			return l.refusedSince(began)
		case err == nil || !temporary(err):
			return explain(err)
		case l.deniedSince(began) != nil:
			return l.deniedSince(began)
		case time.Since(began) > patience:
			return fmt.Errorf("JetStream does not answer: %w", explain(err))
		}
		_ = pause(ctx, wait)
	}
}

// late returns the error of a context that is done, and what that says of the servers.
func late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("JetStream does not answer, as while a leader is elected: %w", ctx.Err())
	}
	return ctx.Err()
}

// pause waits, or returns the error of ctx.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// deniedSince returns the error of a request since then that permissions forbid.
func (l *link) deniedSince(began time.Time) error {
	if denied := l.denied.Load(); denied != nil && denied.when.After(began) {
		return fmt.Errorf("this user may not do this: %w", denied.err)
	}
	return nil
}

// refusedSince returns why a connection was ended since then.
func (l *link) refusedSince(began time.Time) error {
	if refused := l.refused.Load(); refused != nil && refused.when.After(began) {
		return refused.err
	}
	return nil
}

// Error codes of JetStream that nats.go has no names for.
const (
	codeNotAvailable   = 10008 // the system is temporarily unavailable
	codeNotLeader      = 10009
	codeNoPeers        = 10005 // too few servers for the replicas
	codeNoReplicas     = 10074 // more than one replica without a cluster
	codeStoreFailed    = 10077 // for example because the stream is full
	codeOverlap        = 10065 // another stream has these subjects
	codeIncomplete     = 10176 // a batch lacks messages
	codeDuplicate      = 10201 // a batch has a message that is stored
	codeTooManyBatches = 10210
)

// temporary reports whether a request may succeed later.
func temporary(err error) bool {
	for _, known := range []error{
		nats.ErrNoResponders, api.ErrNoStreamResponse, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrStaleConnection, api.ErrInvalidJSAck,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	code := errorCode(err)
	return code == codeNotAvailable || code == codeNotLeader || code == codeIncomplete || code == codeTooManyBatches
}

// errorCode returns the code of an error of JetStream, or 0.
func errorCode(err error) api.ErrorCode {
	if answer := (*api.APIError)(nil); errors.As(err, &answer) {
		return answer.ErrorCode
	}
	return 0
}

// explain says what the errors of a request mean to a user.
func explain(err error) error {
	switch {
	case errors.Is(err, nats.ErrConnectionClosed):
		return store.ErrClosed
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, api.ErrNoStreamResponse):
		return fmt.Errorf("no leader, or JetStream is off (%w)", err)
	case errorCode(err) == codeStoreFailed && strings.Contains(err.Error(), "maximum"):
		return fmt.Errorf("the stream is full: raise its limits (%w)", err)
	case errorCode(err) == codeOverlap:
		return fmt.Errorf("another stream has its subjects: the names of two streams must differ in more than upper and lower case (%w)", err)
	case errors.Is(err, api.ErrJetStreamNotEnabled):
		return fmt.Errorf("the NATS server runs without JetStream; start it with -js, or with a jetstream block in its configuration")
	case errors.Is(err, api.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("JetStream is off for the account of the user; switch it on in the account's configuration")
	}
	return err
}

// message is a stored message.
type message struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Headers []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// getRequest asks for one message: the last of a subject, or the next of a subject from a sequence on.
type getRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
}

// get asks the leader of a stream for a message; nil: there is none.
func (l *link) get(ctx context.Context, stream string, request getRequest) (found *message, err error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	err = l.retry(ctx, func(ctx context.Context) error {
		answer, err := l.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, data)
		if err != nil {
			return err
		}
		var got struct {
			Error   *api.APIError `json:"error"`
			Message *message      `json:"message"`
		}
		if err := json.Unmarshal(answer.Data, &got); err != nil {
			return fmt.Errorf("answer of JetStream: %w", err)
		}
		switch {
		case got.Error != nil && got.Error.ErrorCode == api.JSErrCodeMessageNotFound:
			return nil
		case got.Error != nil:
			return got.Error
		}
		found = got.Message
		return nil
	})
	return found, err
}

// errMoved: another message came to the subject first.
var errMoved = errors.New("another writer was first")

// errUnknown: the outcome of a publish is not known.
var errUnknown = errors.New("outcome not known")

// publish stores a message if the subject's last message has the sequence `last`. Its errors are errMoved,
// errUnknown, or say why nothing was stored. A message that the server takes for one that it has is errUnknown.
func (l *link) publish(ctx context.Context, msg *nats.Msg, last uint64) (seq uint64, err error) {
	once, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	began := time.Now()
	ack, err := l.js.PublishMsg(once, msg, api.WithExpectLastSequencePerSubject(last), api.WithRetryAttempts(0))
	return l.outcome(ctx, ack, err, began)
}

// outcome tells the result of a publish.
func (l *link) outcome(ctx context.Context, ack *api.PubAck, err error, began time.Time) (seq uint64, _ error) {
	code := errorCode(err)
	switch {
	case err == nil && !ack.Duplicate:
		return ack.Sequence, nil
	case err == nil || code == codeDuplicate:
		return 0, fmt.Errorf("a message with this id is stored: %w", errUnknown)
	case code == api.JSErrCodeStreamWrongLastSequence || code == api.JSErrCodeStreamWrongLastSequenceConstant:
		return 0, errMoved
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%w: %w", errUnknown, ctx.Err())
	case l.deniedSince(began) != nil:
		return 0, l.deniedSince(began)
	case errors.Is(err, nats.ErrConnectionClosed):
		return 0, store.ErrClosed
	case temporary(err):
		return 0, fmt.Errorf("%w: %w", errUnknown, err)
	}
	return 0, explain(err)
}

// IsTransient reports whether an error of Open may go away by itself: the servers do not answer, or have no leader.
func IsTransient(err error) bool {
	return errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded) || temporary(err)
}
