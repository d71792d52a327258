package cluster

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jetstream"
)

// openError returns the error of opening a URL, which must not open.
func openError(t *testing.T, url string) error {
	t.Helper()
	options, err := jetstream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jetstream.Open(t.Context(), options)
	if err == nil {
		_ = s.Close()
		t.Errorf("%s was opened", url)
		return errors.New("none")
	}
	return err
}

func wantText(t *testing.T, what string, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %q does not say %q", what, err, text)
		}
	}
}

// TestNoServer opens a port where nobody listens.
func TestNoServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	wantText(t, "no server", openError(t, "nats://name:secret@"+address), "open nats://"+address+"/MCPREC: no NATS server answers at "+address)
}

// TestCertificates opens a server with TLS with the authority of its certificate, without, and without
// TLS.
func TestCertificates(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{TLS: true})
	whole := c.DirectURL(stream, "")
	openStore(t, whole)
	short, _, _ := strings.Cut(whole, "?")
	err := openError(t, short)
	wantText(t, "an unknown authority", err, "does not verify", "ca=FILE")
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		t.Errorf("an unknown authority: %v", err)
	}
	// A server that asks for TLS gets it, and is verified all the same.
	wantText(t, "an unknown authority", openError(t, strings.Replace(short, "tls://", "nats://", 1)), "does not verify", "ca=FILE")

	wantText(t, "no file of an authority", openError(t, short+"?ca=absent.pem"), "ca=FILE", "absent.pem")

	plain := Start(t, Options{})
	openStore(t, plain.DirectURL(stream, ""))
	wantText(t, "a name in other letters", openError(t, plain.DirectURL(strings.ToLower(stream), "")), "upper and lower case")
	wantText(t, "no file of credentials", openError(t, plain.DirectURL(stream, "absent.creds")), "creds=FILE", "absent.creds")
	wantText(t, "a server without TLS", openError(t, strings.Replace(plain.DirectURL(stream, ""), "nats://", "tls://", 1)), "offers no TLS")
}

// TestAccounts opens a store without credentials, in the wrong account, and as users who may not do
// all that a store does.
func TestAccounts(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Accounts: true})
	wantText(t, "no credentials", openError(t, c.DirectURL(stream, "")), "refuses the user", "creds=FILE")
	maker := c.Accounts.AddUser("maker")
	wantText(t, "another account", openError(t, c.DirectURL(stream, maker)+"&account=OTHER"), "not in OTHER")

	// This user may look for streams and not make them.
	looker := c.Accounts.AddUserWith("looker", jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{"$JS.API.STREAM.CREATE.>"}}})
	wantText(t, "no stream, which may not be made", openError(t, c.DirectURL(stream, looker)), "make stream MCPREC", "may not", "STREAM.CREATE")
	openStore(t, c.DirectURL(stream, maker))
	openStore(t, c.DirectURL(stream, looker))
	blind := c.Accounts.AddUserWith("blind", jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{"$JS.API.>"}}})
	wantText(t, "no permission", openError(t, c.DirectURL(stream, blind)), "find stream MCPREC", "may not", "STREAM.INFO")

	// This user may read, and not write.
	reader := openStore(t, c.DirectURL(stream, c.Accounts.AddUserWith("reader", jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{"mcprec.>"}}})))
	r := newRecording(t)
	if _, err := reader.Append(t.Context(), r.id, 0, r.events); err == nil {
		t.Error("a user without the permission has appended")
	} else {
		wantText(t, "no permission to write", err, "may not", "mcprec.m.")
	}
}

// TestUnfitStreams opens streams that would break promises of the store.
func TestUnfitStreams(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	conn, js := c.Connect()
	defer conn.Close()
	for name, x := range map[string]struct {
		change func(*api.StreamConfig)
		want   string
	}{
		"AGE":     {func(x *api.StreamConfig) { x.MaxAge = 1e12 }, "max_age"},
		"OLD":     {func(x *api.StreamConfig) { x.MaxBytes, x.Discard = 1<<20, api.DiscardOld }, "discard"},
		"FEW":     {func(x *api.StreamConfig) { x.MaxMsgsPerSubject = 9 }, "max_msgs_per_subject"},
		"MEMORY":  {func(x *api.StreamConfig) { x.Storage = api.MemoryStorage }, "file storage"},
		"WORK":    {func(x *api.StreamConfig) { x.Retention = api.WorkQueuePolicy }, "retention"},
		"SUBJECT": {func(x *api.StreamConfig) { x.Subjects = []string{"other.>"} }, "subject.s.*"},
	} {
		config := api.StreamConfig{Name: name, Subjects: []string{strings.ToLower(name) + ".s.*"}, Storage: api.FileStorage, Discard: api.DiscardNew}
		x.change(&config)
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		wantText(t, name, openError(t, c.DirectURL(name, "")), "stream "+name+" is no place for sessions", x.want)
	}
}

// TestNoRoom fills a stream, and holds that the error says so.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	options, err := jetstream.ParseURL(c.DirectURL(stream, ""))
	if err != nil {
		t.Fatal(err)
	}
	options.MaxBytes = 256 << 10
	s, err := jetstream.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := newRecording(t)
	claim := mustClaim(t, s, r.id)
	if _, err := claim.Append(t.Context(), 0, r.events); err != nil {
		t.Fatal(err)
	}
	for size := 50 << 10; size > 0; size /= 4 { // until no byte more fits
		for err = nil; err == nil; {
			next := r.frame(10)
			next.Payload = make([]byte, size)
			for i := range next.Payload {
				next.Payload[i] = byte(r.random.Uint32())
			}
			if _, err = claim.Append(t.Context(), r.seq(), []store.Event{next}); err == nil {
				r.events = append(r.events, next)
			}
		}
	}
	wantText(t, "a full stream", err, "the stream is full")
	compare(t, s, r)
	if err := s.Delete(t.Context(), r.id); err == nil {
		t.Error("a claimed session was deleted")
	}
	if err := claim.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), r.id); err != nil {
		t.Errorf("delete from a full stream: %v", err)
	}
}

// TestInbox opens a store as a user who hears answers under a prefix of its own only.
func TestInbox(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Accounts: true})
	openStore(t, c.DirectURL(stream, c.Accounts.AddUser("first"))) // makes the streams
	url := c.DirectURL(stream, c.Accounts.AddUserWith("own", jwt.Permissions{Sub: jwt.Permission{Allow: []string{"_INBOX_own.>"}}})) + "&inbox=_INBOX_own"
	s := openStore(t, url)
	r := newRecording(t)
	for range 20 {
		r.events = append(r.events, r.frame(500))
	}
	for i, event := range r.events { // a message each, so that a consumer reads them
		if _, err := s.Append(t.Context(), r.id, uint64(i), []store.Event{event}); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, s, r)
	for found, err := range s.Sessions(t.Context(), store.Query{Limit: 1}) {
		if err != nil || found.ID != r.id {
			t.Errorf("listed %v, %v", found.ID, err)
		}
	}
	facts, _ := examine(t, url)
	for _, permission := range facts.Permissions {
		if permission.Denied || permission.Fault != "" {
			t.Errorf("the doctor says %+v", permission)
		}
	}
}
