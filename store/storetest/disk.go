package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Log is a store.Spooler with one session, for tests of recorders. It keeps and checks the
// parts, and fails on demand.
type Log struct {
	InMemory bool // it claims never to wait for a disk
	Fail     error
	OnWrite  func()
	Events   []store.Event

	assembler store.Assembler
	validator store.Validator
}

// Spool implements store.Spooler.
func (l *Log) Spool(_ context.Context, opened store.Event) (store.Spool, error) {
	return l, l.Write([]store.Part{{Event: opened}})
}

// Info says whether the spool is in memory.
func (l *Log) Info() store.Info {
	if l.InMemory {
		return store.Info{Durability: "process"}
	}
	return store.Info{Durability: "disk"}
}

// Write keeps the parts.
func (l *Log) Write(parts []store.Part) error {
	if l.OnWrite != nil {
		l.OnWrite()
	}
	if l.Fail != nil {
		return l.Fail
	}
	for _, p := range parts {
		p.Payload = bytes.Clone(p.Payload)
		if err := l.assembler.Add(p, 0); err != nil {
			return err
		}
	}
	for e, ok := l.assembler.Next(); ok; e, ok = l.assembler.Next() {
		if err := l.validator.Check(e); err != nil {
			return err
		}
		l.Events = append(l.Events, e)
	}
	return nil
}

// Close does nothing.
func (l *Log) Close() error { return nil }

// Text returns the log in short: one event a line, without times and without the first event.
func (l *Log) Text() string {
	var b strings.Builder
	for _, e := range l.Events[1:] {
		fmt.Fprintf(&b, "%d %s %v", e.Seq, e.Kind, e.Dir)
		if e.Unterminated {
			b.WriteString(" unterminated")
		}
		fmt.Fprintf(&b, " %s\n", e.Payload)
	}
	return b.String()
}

// Disk is a Log whose writes wait or fail on demand. In a bubble of testing/synctest waiting
// takes no time.
type Disk struct {
	Log
	Wait   func(write int) time.Duration // < 0: until Stuck is closed
	Before bool                          // it waits before it reads the parts
	Full   atomic.Bool                   // no room for any event but the last
	All    bool                          // nor for the last
	From   int                           // full from this write on; 0: never
	Writes int
	Stuck  chan struct{}
	Opens  time.Duration // time to open; < 0: opening fails after it
}

// Spool implements store.Spooler.
func (d *Disk) Spool(_ context.Context, opened store.Event) (store.Spool, error) {
	if time.Sleep(max(d.Opens, -d.Opens)); d.Opens < 0 {
		return nil, errors.New("no such folder")
	}
	return d, d.Log.Write([]store.Part{{Event: opened}})
}

// Write keeps the parts, unless the disk is full.
func (d *Disk) Write(parts []store.Part) error {
	d.Writes++
	if ends := parts[len(parts)-1].Kind == store.Closed; d.Writes == d.From {
		d.Full.Store(true)
	} else if d.Full.Load() && ends && !d.All {
		return d.Log.Write(parts)
	}
	if d.Full.Load() {
		return errors.New("no space left")
	}
	if d.Before {
		d.pause()
	}
	if err := d.Log.Write(parts); err != nil {
		return err
	}
	if !d.Before {
		d.pause()
	}
	return nil
}

func (d *Disk) pause() {
	if d.Wait == nil {
		return
	}
	if w := d.Wait(d.Writes); w >= 0 {
		time.Sleep(w)
	} else {
		<-d.Stuck
	}
}

// Nth returns a wait for one write only.
func Nth(n int, d time.Duration) func(write int) time.Duration {
	return func(write int) time.Duration {
		if write == n {
			return d
		}
		return 0
	}
}
