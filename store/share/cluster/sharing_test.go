package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/share/pull"
	"github.com/mcprec/mcprec/store/share/push"
	"github.com/mcprec/mcprec/store/share/stream"
)

// name is the stream of chunks in these tests.
const name = "MCPREC"

// lease is how long a session is live here without a word of its push. It is short, because some tests wait for
// its end.
const lease = 5 * time.Second

// openStream opens the stream behind a URL, which it makes if need be, until the end of the test.
func openStream(t testing.TB, url string) *stream.Stream {
	t.Helper()
	options, err := stream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.Make = true
	s, err := stream.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// shipped is a stream as a store that compare reads.
type shipped struct{ *stream.Stream }

func (s shipped) Read(ctx context.Context, id store.SessionID, from uint64, _ store.ReadOptions) iter.Seq2[store.Event, error] {
	return s.Stream.Read(ctx, id, from, nil)
}

// openFolder opens the store in a folder until the end of the test.
func openFolder(t testing.TB, dir string) *boltstore.Store {
	t.Helper()
	db, err := boltstore.Open(dir, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// pusher is a push that runs.
type pusher struct {
	*push.Push
	db   *boltstore.Store
	name string
	stop func() // and waits for its end
}

// startPush starts a push of a folder to the stream behind a URL.
func startPush(t testing.TB, dir, url string, options push.Options) *pusher {
	t.Helper()
	target, err := stream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	target.Lease = lease
	target.Make = true
	options.Name = target.FolderName()
	options.Lease = lease
	if options.Trouble == nil {
		options.Trouble = func(err error) { t.Logf("trouble: %v", err) }
	}
	p := &pusher{db: openFolder(t, dir), name: options.Name}
	p.Push = push.New(p.db, func(ctx context.Context) (push.Stream, error) { return stream.Open(ctx, target) }, options)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, push.Forever) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("push: %v", err)
			}
		case <-time.After(patience):
			t.Error("a push that was stopped goes on")
		}
	})
	t.Cleanup(p.stop)
	return p
}

// startPull starts to pull what is in the stream behind a URL, and returns the folder.
func startPull(t testing.TB, url string) *boltstore.Store {
	t.Helper()
	db := openFolder(t, t.TempDir())
	from := openStream(t, url)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := pull.Run(ctx, db, from, pull.Options{Follow: true}); err != nil {
				t.Logf("pull: %v", err)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return db
}

// reach waits until a push says that a session of its folder has come to a state.
func (p *pusher) reach(t testing.TB, state string, recorded ...*recording) (why string) {
	t.Helper()
	for _, r := range recorded {
		wait(t, "session "+string(r.id)+" is "+state, func() error {
			list, err := push.Look(t.Context(), p.db, p.name)
			for _, x := range list {
				if x.Session.ID != r.id {
					continue
				}
				if x.State != state {
					_, last := p.Progress()
					return errors.Join(fmt.Errorf("it is %s", x.State), last)
				}
				why = x.Why
				return err
			}
			return errors.Join(errors.New("it is not there"), err)
		})
	}
	return why
}

// fails waits until a push has an error to tell.
func (p *pusher) fails(t testing.TB) {
	t.Helper()
	wait(t, "the push has an error to tell", func() error {
		_, err := p.Progress()
		if err == nil {
			return errors.New("none")
		}
		t.Logf("the push says: %v", err)
		return nil
	})
}

// sealed holds that a folder has sessions sealed.
func sealed(t testing.TB, db *boltstore.Store, recorded ...*recording) {
	t.Helper()
	for _, r := range recorded {
		wait(t, "session "+string(r.id)+" is sealed and no longer live", func() error {
			for x, err := range db.Sessions(t.Context(), store.Query{Prefix: string(r.id)}) {
				if err != nil || x.State != store.Ended {
					return errors.Join(err, errors.New(string(x.State)))
				}
			}
			return nil
		})
	}
}
