package httptap

import (
	"bytes"
	"context"

	"github.com/mcprec/mcprec/store"
)

// spoolLog is a store.Spooler and its one session, for tests of recorders. It keeps what is
// written, checks it, and fails when told to.
type spoolLog struct {
	InMemory bool // a recorder takes it for one that never waits for a disk
	Fail     error
	OnWrite  func()
	Events   []store.Event

	assembler store.Assembler
	validator store.Validator
}

// Spool implements store.Spooler.
func (l *spoolLog) Spool(_ context.Context, opened store.Event) (store.Spool, error) {
	return l, l.Write([]store.Part{{Event: opened}})
}

// Info says whether the spool is in memory.
func (l *spoolLog) Info() store.Info {
	if l.InMemory {
		return store.Info{Durability: "process"}
	}
	return store.Info{Durability: "disk"}
}

// Write keeps the parts.
func (l *spoolLog) Write(parts []store.Part) error {
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
func (l *spoolLog) Close() error { return nil }

// stuckDisk is a spoolLog one of whose writes waits until stuck is closed.
type stuckDisk struct {
	spoolLog
	at     int  // which write waits
	before bool // it waits before it looks at what it is to write
	writes int
	stuck  chan struct{}
}

func (d *stuckDisk) Spool(_ context.Context, opened store.Event) (store.Spool, error) {
	return d, d.spoolLog.Write([]store.Part{{Event: opened}})
}

func (d *stuckDisk) Write(parts []store.Part) error {
	d.writes++
	if d.before && d.writes == d.at {
		<-d.stuck
	}
	err := d.spoolLog.Write(parts)
	if !d.before && d.writes == d.at {
		<-d.stuck
	}
	return err
}
