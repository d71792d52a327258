package session

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"iter"
	"os"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/mask"
)

// Secrets are the flags for masking.
type Secrets struct {
	Show   bool
	Values []string // secrets
	store.MaskRules
}

// Rules returns the rules of the user.
func (o *Secrets) Rules() (mask.Rules, error) {
	rules := mask.Rules{Keys: o.Keys, Pointers: o.Pointers, Values: append(mask.EnvValues(os.Environ(), o.Env), o.Values...)}
	for _, p := range o.Patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return rules, cli.Usagef("--mask-pattern %s: %v", p, err)
		}
		if re.MatchString("") {
			return rules, cli.Usagef("--mask-pattern %s: it matches an empty text; want one that needs a character", p)
		}
		rules.Patterns = append(rules.Patterns, re)
	}
	if _, err := mask.New(nil, rules); err != nil {
		return rules, cli.Usagef("%v", err)
	}
	return rules, nil
}

// Masker masks the output of a command. The zero Masker passes everything.
type Masker struct {
	inner *mask.Masker
}

// Masker returns the masker of the flags. The key is from db, or from the store of the flags.
// Without a store the key is random, and placeholders are equal within this process only.
func (h *Home) Masker(db store.Keyed) (Masker, error) {
	if h.Secrets.Show {
		return Masker{}, nil
	}
	rules, err := h.Secrets.Rules()
	if err != nil {
		return Masker{}, err
	}
	var key []byte
	if db != nil {
		key, err = db.RedactionKey()
	} else if folder, fault := h.folder(); fault == nil {
		key, err = boltstore.ReadKey(folder)
	}
	if key == nil || err != nil { // as in a folder that is read-only
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	m, err := mask.New(key, rules)
	if err != nil {
		return Masker{}, err
	}
	return Masker{inner: m}, nil
}

// maskFold returns the function by which any mcprec masks a session of record --mask on the way
// from the spool to the database.
func maskFold(key []byte, header store.Header) (func(store.Event) store.Event, error) {
	o := Secrets{MaskRules: *header.Masked}
	rules, err := o.Rules()
	if err != nil {
		return nil, err
	}
	m, err := mask.New(key, rules)
	if err != nil {
		return nil, err
	}
	return m.Of(header).Session().Event, nil
}

// Of returns a masker that also masks the secrets of a session's command line and URL.
func (d Masker) Of(header store.Header) Masker {
	if d.inner != nil {
		d.inner = d.inner.Of(header)
	}
	return d
}

// Event masks an event.
func (d Masker) Event(event store.Event) store.Event {
	if d.inner == nil {
		return event
	}
	return d.inner.Event(event)
}

// Text masks a text.
func (d Masker) Text(s string) string {
	if d.inner == nil {
		return s
	}
	masked, _ := d.inner.Text([]byte(s))
	return string(masked)
}

// Fault masks the text of an error, and keeps the chain.
func (d Masker) Fault(err error) error {
	if err == nil || d.inner == nil {
		return err
	}
	return maskedError{err, d.Text(err.Error())}
}

// maskedError is an error with another text.
type maskedError struct {
	error
	text string
}

// Error returns the masked text.
func (e maskedError) Error() string { return e.text }

// Unwrap returns the error.
func (e maskedError) Unwrap() error { return e.error }

// Texts masks a list of texts.
func (d Masker) Texts(list []string) []string {
	masked := make([]string, len(list))
	for i, s := range list {
		masked[i] = d.Text(s)
	}
	return masked
}

// Value masks a JSON value at a place of a message. The value is wrapped in the members and
// elements of the place, because the rules depend on the names.
func (d Masker) Value(place []string, value []byte) []byte {
	if d.inner == nil {
		return value
	}
	before, after := "", ""
	for _, step := range place {
		if _, err := strconv.Atoi(step); err == nil {
			before, after = before+"[", "]"+after
		} else {
			name, _ := json.Marshal(step) // a string can always be encoded
			before, after = before+"{"+string(name)+":", "}"+after
		}
	}
	masked, n := d.inner.Frame([]byte(before + string(value) + after))
	switch {
	case n == 0:
		return value
	case !bytes.HasPrefix(masked, []byte(before)) || !bytes.HasSuffix(masked, []byte(after)): // a member of the place is a secret as a whole
		return strconv.AppendQuote(nil, d.inner.Placeholder(string(value)))
	}
	return masked[len(before) : len(masked)-len(after)]
}

// Header masks the header of a session.
func (d Masker) Header(header store.Header) store.Header {
	e := d.Event(store.Event{Kind: store.Opened, Payload: header.Encode()})
	if masked, err := store.ParseHeader(e.Payload); err == nil {
		return masked
	}
	return header
}

// Headers masks the headers of listed sessions, in place. Many sessions have the same label and
// command, which are masked once.
func (d Masker) Headers(sessions []store.Session) {
	masked := map[string]store.Header{}
	for i := range sessions {
		own := sessions[i].Header
		own.ID = ""
		own.Start = time.Time{}
		own.Processes = nil // which tell sessions apart, and have no secrets
		key := string(own.Encode())
		h, ok := masked[key]
		if !ok {
			h = d.Header(own)
			masked[key] = h
		}
		h.ID = sessions[i].ID
		h.Start = sessions[i].Start
		h.Processes = sessions[i].Processes
		sessions[i].Header = h
	}
}

// Events masks the events of a session, from the first on.
func (d Masker) Events(events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] {
	return d.EventsFrom(events, 1)
}

// EventsFrom masks the events of a session from a Seq on. It is given all events: a secret may have begun before.
func (d Masker) EventsFrom(events iter.Seq2[store.Event, error], from uint64) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		var session *mask.Session
		if d.inner != nil {
			session = d.inner.Session()
		}
		for e, err := range events {
			switch {
			case err == nil && e.Seq < from && session != nil:
				session.Pass(e)
				continue
			case err == nil && e.Seq < from:
				continue
			case session != nil:
				e = session.Event(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Reading yields the events of a session, from the first on, for a view that reads many messages and quotes few:
// the messages come as they were recorded, and whatever is quoted of one must pass the Mask. All else is masked, and
// so is every message where the user's own rules may hide what a view takes for no secret.
func (d Masker) Reading(events iter.Seq2[store.Event, error]) (iter.Seq2[store.Event, error], timeline.Mask) {
	if d.inner == nil || d.inner.Overrules() {
		return d.Events(events), nil
	}
	var masker atomic.Pointer[mask.Masker] // the events may be read by another goroutine than the Mask's
	masker.Store(d.inner)
	reading := func(yield func(store.Event, error) bool) {
		inOrder := d.inner.Session()
		for e, err := range events {
			switch {
			case mask.MayWait(e):
			case e.Kind == store.Opened:
				if header, err := store.ParseHeader(e.Payload); err == nil {
					masker.Store(d.inner.Of(header))
				}
				e = inOrder.Event(e)
			default:
				e = inOrder.Event(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
	return reading, func(data []byte) []byte {
		masked, _ := masker.Load().Frame(data)
		return masked
	}
}

// InOrder returns a function that masks the events of a session, which come in their order.
func (d Masker) InOrder() func(store.Event) store.Event {
	if d.inner == nil {
		return func(event store.Event) store.Event { return event }
	}
	return d.inner.Session().Event
}

// SecretCount counts the secrets of a session, and the events with secrets.
type SecretCount struct{ Secrets, Events uint64 }

// Find masks the events of a session, calls f with each event and the secrets in it, and counts both.
func (d Masker) Find(events iter.Seq2[store.Event, error], f func(store.Event, []mask.Finding) error) (n SecretCount, err error) {
	if d.inner == nil {
		return n, Each(events, func(event store.Event) error { return f(event, nil) })
	}
	var found []mask.Finding
	session := d.inner.Reporting(func(finding mask.Finding) { found = append(found, finding) }).Session()
	err = Each(events, func(event store.Event) error {
		found = found[:0]
		if event = session.Event(event); len(found) > 0 {
			n.Secrets += uint64(len(found))
			n.Events++
		}
		return f(event, found)
	})
	return n, err
}
