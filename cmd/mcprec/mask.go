package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/mask"
)

// secretOptions are the flags for masking.
type secretOptions struct {
	show bool
	store.MaskRules
}

const secretHelp = `The store keeps exactly what passed, for you alone, but for headers that carry
credentials. Whatever leaves it, shown or written, has its secrets masked: [redacted:…]
stands for each, the same for the same secret. --secrets leaves them as they are,
--mask-key and its like mask more, --mask keeps none once the session has ended, and mcprec
redact takes them out of a session for good.

`

// addRules adds the flags that name more secrets. Their old names work too.
func (o *secretOptions) addRules(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.Keys, "mask-key", nil, "mask what is under `KEY`, in JSON and in text; * stands for anything;\nmay be repeated, as the three below")
	f.StringArrayVar(&o.Patterns, "mask-pattern", nil, "mask what the regular expression `RE` finds; of one with a group, the group")
	f.StringArrayVar(&o.Pointers, "mask-pointer", nil, "mask what is at the JSON `POINTER` of a message; * stands for any member")
	f.StringArrayVar(&o.Env, "mask-env", nil, "mask the value of the environment variable `NAME`")
	old := map[string]pflag.NormalizedName{"no-redact": "secrets", "redact-key": "mask-key", "redact-pattern": "mask-pattern",
		"redact-pointer": "mask-pointer", "redact-env": "mask-env"}
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, ok := old[name]; ok {
			return now
		}
		return pflag.NormalizedName(name)
	})
}

func (o *secretOptions) rules() (mask.Rules, error) {
	rules := mask.Rules{Keys: o.Keys, Pointers: o.Pointers, Values: mask.EnvValues(os.Environ(), o.Env)}
	for _, p := range o.Patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return rules, exit.Usagef("--mask-pattern %s: %v", p, err)
		}
		if re.MatchString("") {
			return rules, exit.Usagef("--mask-pattern %s: it matches an empty text; want one that needs a character", p)
		}
		rules.Patterns = append(rules.Patterns, re)
	}
	if _, err := mask.New(nil, rules); err != nil {
		return rules, exit.Usagef("%v", err)
	}
	return rules, nil
}

// masker masks what a command prints and writes of a session. The zero masker masks nothing.
type masker struct {
	inner *mask.Masker
	rules string // identifies the rules and the key: equal ones mask alike
}

// masker returns the masker of the flags. Its key is that of db, or of the store of the flags
// if it exists. Without a key the placeholders are those of this process alone.
func (h *home) masker(db *boltstore.Store) (masker, error) {
	if h.secrets.show {
		return masker{}, nil
	}
	rules, err := h.secrets.rules()
	if err != nil {
		return masker{}, err
	}
	var key []byte
	if db != nil {
		key, err = db.RedactionKey()
	} else if dir, fault := h.path(); fault == nil {
		key, err = boltstore.ReadKey(dir)
	}
	if key == nil || err != nil { // as in a folder that is read-only
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	m, err := mask.New(key, rules)
	if err != nil {
		return masker{}, err
	}
	return masker{inner: m, rules: m.Placeholder(fmt.Sprintf("%q %q %q %q", rules.Keys, rules.Patterns, rules.Pointers, rules.Values))}, nil
}

// maskFold returns the function that masks a session of record --mask when it is moved out of
// its spool, by any mcprec.
func maskFold(key []byte, h store.Header) (func(store.Event) store.Event, error) {
	o := secretOptions{MaskRules: *h.Masked}
	rules, err := o.rules()
	if err != nil {
		return nil, err
	}
	m, err := mask.New(key, rules)
	if err != nil {
		return nil, err
	}
	return m.Of(h).Session().Event, nil
}

// of returns a masker that also masks the secrets of a session's command line and URL.
func (d masker) of(h store.Header) masker {
	if d.inner != nil {
		d.inner = d.inner.Of(h)
	}
	return d
}

func (d masker) event(e store.Event) store.Event {
	if d.inner == nil {
		return e
	}
	return d.inner.Event(e)
}

func (d masker) text(s string) string {
	if d.inner == nil {
		return s
	}
	masked, _ := d.inner.Text([]byte(s))
	return string(masked)
}

// fault masks the text of an error, and keeps its chain.
func (d masker) fault(err error) error {
	if err == nil || d.inner == nil {
		return err
	}
	return maskedError{err, d.text(err.Error())}
}

type maskedError struct {
	error
	text string
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.error }

func (d masker) texts(list []string) []string {
	masked := make([]string, len(list))
	for i, s := range list {
		masked[i] = d.text(s)
	}
	return masked
}

// value masks a JSON value at a place of a message. It wraps the value in the members and
// elements of the place, because the rules depend on their names.
func (d masker) value(place []string, value []byte) []byte {
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
	case !bytes.HasPrefix(masked, []byte(before)) || !bytes.HasSuffix(masked, []byte(after)): // all below a member of the place is a secret
		return strconv.AppendQuote(nil, d.inner.Placeholder(string(value)))
	}
	return masked[len(before) : len(masked)-len(after)]
}

func (d masker) header(h store.Header) store.Header {
	e := d.event(store.Event{Kind: store.Opened, Payload: h.Encode()})
	if masked, err := store.ParseHeader(e.Payload); err == nil {
		return masked
	}
	return h
}

func (d masker) events(events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] {
	if d.inner == nil {
		return events
	}
	return func(yield func(store.Event, error) bool) {
		session := d.inner.Session()
		for e, err := range events {
			if !yield(session.Event(e), err) {
				return
			}
		}
	}
}
