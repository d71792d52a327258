package cluster

import (
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/stream"
)

// openError returns the error of opening a URL, which must not open.
func openError(t *testing.T, url string) error {
	t.Helper()
	options, err := stream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.Make = true
	s, err := stream.Open(t.Context(), options)
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
	whole := c.DirectURL(name, "")
	openStream(t, whole)
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
	openStream(t, plain.DirectURL(name, ""))
	wantText(t, "a name in other letters", openError(t, plain.DirectURL(strings.ToLower(name), "")), "upper and lower case")
	wantText(t, "no file of credentials", openError(t, plain.DirectURL(name, "absent.creds")), "creds=FILE", "absent.creds")
	wantText(t, "a server without TLS", openError(t, strings.Replace(plain.DirectURL(name, ""), "nats://", "tls://", 1)), "offers no TLS")
}

// TestAccounts opens a store without credentials, in the wrong account, and as users who may not do
// all that a store does.
func TestAccounts(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Accounts: true})
	wantText(t, "no credentials", openError(t, c.DirectURL(name, "")), "refuses the user", "creds=FILE")
	maker := c.Accounts.AddUser("maker")
	wantText(t, "another account", openError(t, c.DirectURL(name, maker)+"&account=OTHER"), "not in OTHER")

	// This user may look for streams and not make them.
	looker := c.Accounts.AddUserWith("looker", jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{"$JS.API.STREAM.CREATE.>"}}})
	wantText(t, "no stream, which may not be made", openError(t, c.DirectURL(name, looker)), "make stream MCPREC", "may not", "STREAM.CREATE")
	openStream(t, c.DirectURL(name, maker))
	openStream(t, c.DirectURL(name, looker))
	blind := c.Accounts.AddUserWith("blind", jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{"$JS.API.>"}}})
	wantText(t, "no permission", openError(t, c.DirectURL(name, blind)), "find stream MCPREC", "may not", "STREAM.INFO")

	// This user may read, and not write.
	reader := openStream(t, c.DirectURL(name, c.Accounts.AddUserWith("reader", jwt.Permissions{Pub: jwt.Permission{Deny: jwt.StringList{"mcprec.>"}}})))
	r := newRecording()
	if _, err := reader.Append(t.Context(), r.id, 0, r.events); err == nil {
		t.Error("a user without the permission has appended")
	} else {
		wantText(t, "no permission to write", err, "may not", "mcprec.s.")
	}
}

// TestUnfitStreams opens streams that would break promises.
func TestUnfitStreams(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	conn, js := c.Connect()
	defer conn.Close()
	for unfit, x := range map[string]struct {
		change func(*api.StreamConfig)
		want   string
	}{
		"OLD":     {func(x *api.StreamConfig) { x.MaxBytes, x.Discard = 1<<20, api.DiscardOld }, "discard"},
		"FEW":     {func(x *api.StreamConfig) { x.MaxMsgsPerSubject = 9 }, "max_msgs_per_subject"},
		"MEMORY":  {func(x *api.StreamConfig) { x.Storage = api.MemoryStorage }, "file storage"},
		"WORK":    {func(x *api.StreamConfig) { x.Retention = api.WorkQueuePolicy }, "retention"},
		"SUBJECT": {func(x *api.StreamConfig) { x.Subjects = []string{"other.>"} }, "subject.s.*"},
	} {
		config := api.StreamConfig{Name: unfit, Subjects: []string{strings.ToLower(unfit) + ".s.*"}, Storage: api.FileStorage, Discard: api.DiscardNew}
		x.change(&config)
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		wantText(t, unfit, openError(t, c.DirectURL(unfit, "")), "stream "+unfit+" is no place for sessions", x.want)
	}
}

// TestInbox opens a store as a user who hears answers under a prefix of its own only.
func TestInbox(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Accounts: true})
	openStream(t, c.DirectURL(name, c.Accounts.AddUser("first"))) // makes the streams
	url := c.DirectURL(name, c.Accounts.AddUserWith("own", jwt.Permissions{Sub: jwt.Permission{Allow: []string{"_INBOX_own.>"}}})) + "&inbox=_INBOX_own"
	s := openStream(t, url)
	r := newRecording()
	for range 20 {
		r.events = append(r.events, r.frame(500))
	}
	for i, event := range r.events { // a message each, so that a consumer reads them
		if _, err := s.Append(t.Context(), r.id, uint64(i), []store.Event{event}); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, shipped{s}, r)
	if err := s.Tell(t.Context(), stream.Entry{Header: store.Header{ID: r.id}, Head: store.Head{Seq: r.seq()}}); err != nil {
		t.Fatal(err)
	}
	listed := 0
	for e, err := range s.Entries(t.Context(), false) {
		if err != nil || e.ID() != r.id || e.Seq != r.seq() {
			t.Errorf("listed %+v, %v", e, err)
		}
		listed++
	}
	if listed != 1 {
		t.Errorf("listed %d entries", listed)
	}
}

// TestDamagedStream removes, adds and changes messages behind push's back, and holds that reading
// tells of it.
func TestDamagedStream(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	s := openStream(t, c.DirectURL(name, ""))
	conn, js := c.Connect()
	defer conn.Close()
	for what, damage := range map[string]func(t *testing.T, messages []*api.RawStreamMsg, chunks api.Stream){
		"a message is gone": func(t *testing.T, messages []*api.RawStreamMsg, chunks api.Stream) {
			if err := chunks.DeleteMsg(t.Context(), messages[5].Sequence); err != nil {
				t.Fatal(err)
			}
		},
		"the first is gone": func(t *testing.T, messages []*api.RawStreamMsg, chunks api.Stream) {
			if err := chunks.DeleteMsg(t.Context(), messages[0].Sequence); err != nil {
				t.Fatal(err)
			}
		},
		"a message is there again": func(t *testing.T, messages []*api.RawStreamMsg, _ api.Stream) {
			again := nats.NewMsg(messages[2].Subject)
			again.Header.Set("Mcprec", messages[2].Header.Get("Mcprec"))
			again.Data = messages[2].Data
			if _, err := js.PublishMsg(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		},
		"a foreign message": func(t *testing.T, messages []*api.RawStreamMsg, _ api.Stream) {
			if _, err := js.Publish(t.Context(), messages[0].Subject, []byte("hello")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRecording()
			for range 12 {
				after := r.seq()
				if _, err := s.Append(t.Context(), r.id, after-1, r.events[after-1:]); err != nil {
					t.Fatal(err)
				}
				r.events = append(r.events, r.frame(200))
			}
			chunks, err := js.Stream(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			subject := "mcprec.s." + string(r.id)
			var messages []*api.RawStreamMsg
			for seq := uint64(0); ; {
				msg, err := chunks.GetMsg(t.Context(), seq+1, api.WithGetMsgSubject(subject))
				if errors.Is(err, api.ErrMsgNotFound) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				messages = append(messages, msg)
				seq = msg.Sequence
			}
			damage(t, messages, chunks)
			last := error(nil)
			for _, err := range s.Read(t.Context(), r.id, 1, nil) {
				last = err
			}
			if want := map[bool]error{true: stream.ErrBeginningGone, false: store.ErrCorrupt}[what == "the first is gone"]; !errors.Is(last, want) {
				t.Errorf("read: %v", last)
			}
		})
	}
}

// TestStreamWithoutBatches holds that an append that needs several messages is refused where the stream
// takes no batches, and leaves nothing.
func TestStreamWithoutBatches(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	conn, js := c.Connect()
	defer conn.Close()
	_, err := js.CreateStream(t.Context(), api.StreamConfig{Name: name, Subjects: []string{"mcprec.s.*"}, Storage: api.FileStorage})
	if err != nil {
		t.Fatal(err)
	}
	s := openStream(t, c.DirectURL(name, ""))
	r := newRecording()
	large := r.frame(10)
	large.Payload = make([]byte, 3<<20)
	for i := range large.Payload {
		large.Payload[i] = byte(r.random.Uint32())
	}
	if _, err := s.Append(t.Context(), r.id, 0, append(slices.Clone(r.events), large)); !errors.Is(err, stream.ErrTooLarge) {
		t.Errorf("append of %d bytes: %v", len(large.Payload), err)
	}
	if _, err := s.Head(t.Context(), r.id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if _, err := s.Append(t.Context(), r.id, 0, r.events); err != nil {
		t.Error(err)
	}
	compare(t, shipped{s}, r)
}
