package sharing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/outbox"
)

// FlushOptions configures a flush.
type FlushOptions struct {
	KeyFile string // see session.RecordOptions
	Wait    bool   // until nothing waits or is held back
	Format  string // of the report: "text" or "json"
}

// Flush sends what dead recorders have left on this machine, and frees what may go, for the store of
// home, or, if that is in a folder and isNamed is false, for each shared store that this machine has
// recorded for. It reports each session to out, and a total to errs. left is true if a session waits or
// is kept although its store answers. An error names a store without an answer, or a fault of this
// machine.
func Flush(ctx context.Context, home session.Home, isNamed bool, options FlushOptions, out, errs io.Writer) (left bool, err error) {
	isShared, err := home.IsShared()
	if err != nil {
		return false, err
	}
	homes := []session.Home{home}
	if !isShared && !isNamed {
		places, fault := session.Outboxes()
		if fault != nil {
			return false, fault
		}
		homes = homes[:0]
		for _, place := range places {
			homes = append(homes, session.Home{Place: place})
		}
		if len(homes) == 0 {
			fmt.Fprintln(errs, "mcprec: nothing waits: this machine has recorded for no shared store")
		}
	}
	for _, home := range homes {
		f := &flushing{options: options, out: out, fates: map[store.SessionID]outbox.Fate{}}
		fault := f.run(ctx, home)
		err = errors.Join(err, fault)
		left = left || f.left
		if fault == nil || len(f.fates) > 0 {
			fmt.Fprintf(errs, "mcprec: %s: %s\n", f.target, f.summary())
		}
		if slices.Contains(slices.Collect(maps.Values(f.fates)), outbox.Kept) {
			fmt.Fprintf(errs, "mcprec: what is kept is a store: mcprec show --store %s ID shows it, and mcprec rm --store %[1]s ID removes it\n", f.folder)
		}
	}
	return left, err
}

// flushing is the flush of one outbox.
type flushing struct {
	options FlushOptions
	out     io.Writer
	target  string
	folder  string                          // of the outbox
	fates   map[store.SessionID]outbox.Fate // the last of each session
	sent    uint64                          // events
	left    bool                            // a session waits or is kept
}

// askAgain is how long --wait waits before it tries again what could not be sent.
const askAgain = 10 * time.Second

// run flushes an outbox, with FlushOptions.Wait again and again.
func (f *flushing) run(ctx context.Context, home session.Home) (err error) {
	db, err := session.OpenRecorder(home, session.RecordOptions{KeyFile: f.options.KeyFile})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f.target = db.Info().Location
	if place, err := home.Absolute(); err == nil {
		f.folder, _ = session.OutboxFolder(place) // a store without an outbox is an error below
	}
	box := db.Outbox()
	if box == nil {
		return fmt.Errorf("%s is no shared store: nothing waits for it", f.target)
	}
	for {
		pause := time.Duration(0) // 0: nothing is left to wait for
		f.left = false
		err := box.Flush(ctx, func(flushed outbox.Flushed) {
			f.report(flushed)
			switch flushed.Fate {
			case outbox.Sent, outbox.Held:
				pause = shorter(pause, flushed.Left+time.Second)
			case outbox.Waits:
				f.left = true
				pause = shorter(pause, askAgain)
			case outbox.Kept:
				f.left = true
			}
		})
		busy := errors.Is(err, store.ErrBusy)
		if busy {
			err = nil
			pause = askAgain
		}
		switch {
		case !f.options.Wait && busy:
			return errors.New("another mcprec sends from this outbox just now")
		case err != nil && (!f.options.Wait || pause == 0):
			return store.RootCause(err) // without the places in the outbox
		case !f.options.Wait || pause == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// shorter returns the shorter of two pauses, of which the first may be none.
func shorter(pause, other time.Duration) time.Duration {
	if pause == 0 {
		return other
	}
	return min(pause, other)
}

// report prints what became of a session, unless that was said before.
func (f *flushing) report(flushed outbox.Flushed) {
	f.sent += flushed.Sent
	if f.fates[flushed.ID] == flushed.Fate {
		return
	}
	f.fates[flushed.ID] = flushed.Fate
	if f.options.Format == "json" {
		line := struct {
			Store string          `json:"store"`
			ID    store.SessionID `json:"id"`
			Fate  outbox.Fate     `json:"fate"`
			Sent  uint64          `json:"sent"`
			Bytes int64           `json:"bytes"`
			Left  time.Duration   `json:"left_ns"`
			Error string          `json:"error,omitempty"`
		}{Store: f.target, ID: flushed.ID, Fate: flushed.Fate, Sent: flushed.Sent, Bytes: flushed.Bytes, Left: flushed.Left}
		if flushed.Err != nil {
			line.Error = flushed.Err.Error()
		}
		_ = json.NewEncoder(f.out).Encode(line)
		return
	}
	says := ""
	switch flushed.Fate {
	case outbox.Sent:
		says = fmt.Sprintf("%s; kept here for %v more, in case the servers lose them", phrase.Plural(flushed.Sent, "event"), flushed.Left.Round(time.Second))
	case outbox.Held:
		says = fmt.Sprintf("for %v more; it was sent before", flushed.Left.Round(time.Second))
	case outbox.Freed:
		says = "the shared store has it"
	}
	switch {
	case errors.Is(flushed.Err, store.ErrLive):
		says = "its recorder may still live, for all that the shared store knows; it will know in half a minute"
	case flushed.Err != nil:
		says = strings.TrimPrefix(flushed.Err.Error(), "session "+string(flushed.ID)+" is not shipped: ")
		says = strings.TrimPrefix(says, "connect to "+f.target+": ")
		says = strings.TrimPrefix(says, "open "+f.target+": ")
	}
	fmt.Fprintf(f.out, "%s  %-5s  %s\n", flushed.ID, flushed.Fate, terminal.Plain(says))
}

// summary says what a flush has done, in a line.
func (f *flushing) summary() string {
	counts := map[outbox.Fate]int{}
	for _, fate := range f.fates {
		counts[fate]++
	}
	if len(f.fates) == 0 {
		return "nothing waits"
	}
	text := fmt.Sprintf("sent %s of %s", phrase.Plural(f.sent, "event"), phrase.Plural(counts[outbox.Sent], "session"))
	for _, part := range []struct {
		fate outbox.Fate
		says string
	}{{outbox.Held, "held back"}, {outbox.Freed, "freed"}, {outbox.Waits, "waiting"}, {outbox.Kept, "to be looked at"}} {
		if n := counts[part.fate]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, part.says)
		}
	}
	return text
}
