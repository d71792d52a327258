package recording

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store/outbox"
)

// Sending says how what is recorded goes to a shared store. A store in a folder needs none of it.
type Sending struct {
	KeyFile                  string // has the key of a team for placeholders; "": the machine's own
	SessionLimit, TotalLimit int64  // bytes of a session, and of all, that may wait; 0: the defaults
}

// openStore opens the store that is recorded into.
func (r *recording) openStore() (*session.Store, error) {
	return session.OpenRecorder(r.Home, session.RecordOptions{
		Sync: r.Sync, KeyFile: r.KeyFile, SessionLimit: r.SessionLimit, TotalLimit: r.TotalLimit,
		Trouble: func(err error) { r.say("%v", err) },
	})
}

const (
	// lookEvery is how often a recorder looks whether the shared store takes what it sends.
	lookEvery = 10 * time.Second
	// silentFor is how long events wait for a shared store before stderr says so.
	silentFor = time.Minute
	// flushEvery is how often a recorder sends what others have left, and frees what may go.
	flushEvery = 10 * time.Minute
)

// sendBeside sends what dead recorders have left for the shared store, frees what has been there for long
// enough, and says once if the store takes nothing. The caller calls end, which waits for no network.
func (r *recording) sendBeside() (end func()) {
	if r.db == nil || r.db.Outbox() == nil {
		return func() {}
	}
	box := r.db.Outbox()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		said := false
		next := time.After(tidyAfter)
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next:
				// Close of the outbox waits for it, and says nothing: mcprec store flush does.
				go func() { _ = box.Flush(ctx, func(outbox.Flushed) {}) }()
				next = time.After(flushEvery)
			case <-look.C:
				text := silence(box.Stats())
				if text != "" && !said {
					said = true
					r.say("%s; the session goes on, and what is recorded waits on this machine", text)
				}
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// silence says that a shared store has taken nothing for long, and why; "": that is not so.
func silence(stats outbox.Stats) string {
	if stats.LastError == nil || stats.OldestWaiting < silentFor {
		return ""
	}
	return stats.Target + " takes nothing: " + stats.LastError.Error()
}

// waiting says what waits for a shared store, the last error of sending it, and what sends it later.
func waiting(stats outbox.Stats) string {
	text := fmt.Sprintf("%s %s in the outbox for %s", phrase.Plural(stats.EventsWaiting, "event"),
		phrase.Agree(stats.EventsWaiting, "waits", "wait"), stats.Target)
	if stats.LastError != nil && !errors.Is(stats.LastError, context.Canceled) { // that is the close's own
		last := strings.TrimPrefix(stats.LastError.Error(), "connect to "+stats.Target+": ")
		text += " (last error: " + strings.TrimPrefix(last, "open "+stats.Target+": ") + ")"
	}
	return text + "; mcprec store flush sends " + phrase.Agree(stats.EventsWaiting, "it", "them")
}

// closeStore closes the store. What still waits for a shared store is no loss: stderr says what sends
// it. of begins that sentence, such as "session ID: ".
func (r *recording) closeStore(of string) error {
	box := r.db.Outbox()
	err := r.db.Close()
	if box == nil {
		return err
	}
	stats := box.Stats()
	switch {
	case stats.EventsWaiting > 0:
		r.say("%s%s", of, waiting(stats))
	case err != nil:
		r.say("%v", err)
	}
	return nil
}
