package main

import (
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/redact"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// secretOptions are the flags that say what is taken out of the log.
type secretOptions struct {
	keep     bool
	keys     []string
	patterns []string
	pointers []string
	env      []string
}

const secretHelp = `Secrets are taken out of the log, never out of what passes: passwords, tokens and
keys by the name of their member, argument or variable; keys of known shapes;
credentials in headers and URLs; the values of secret environment variables. A
placeholder [redacted:…] stands for each, the same for the same secret.

`

func (o *secretOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.keep, "no-redact", false, "record secrets as they are")
	o.addRules(cmd)
}

// addRules adds the flags that say what else is a secret.
func (o *secretOptions) addRules(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.keys, "redact-key", nil, "redact what is under `KEY`, in JSON and in text; * stands for anything;\nmay be repeated, as the three below")
	f.StringArrayVar(&o.patterns, "redact-pattern", nil, "redact what the regular expression `RE` finds; of one with a group, the group")
	f.StringArrayVar(&o.pointers, "redact-pointer", nil, "redact what is at the JSON `POINTER` of a message; * stands for any member")
	f.StringArrayVar(&o.env, "redact-env", nil, "redact the value of the environment variable `NAME`")
}

// rules reads the flags.
func (o *secretOptions) rules() (redact.Rules, error) {
	rules := redact.Rules{Keys: o.keys, Pointers: o.pointers, Values: redact.EnvValues(os.Environ(), o.env)}
	for _, p := range o.patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return rules, usagef("--redact-pattern %s: %v", p, err)
		}
		if re.MatchString("") {
			return rules, usagef("--redact-pattern %s: it matches nothing at all, everywhere", p)
		}
		rules.Patterns = append(rules.Patterns, re)
	}
	if _, err := redact.New(nil, rules); err != nil {
		return rules, usagef("%v", err)
	}
	return rules, nil
}

// redactor returns the Redactor of a session, nil if secrets are kept. An error says
// what is amiss with the store's key; the Redactor is good all the same.
func (o *secretOptions) redactor(s store.Spooler, h store.Header) (*redact.Redactor, error) {
	if o.keep {
		return nil, nil
	}
	rules, err := o.rules()
	if err != nil {
		return nil, err
	}
	return recorder.Secrets(s, h, rules)
}

// clean takes the secrets out of frames that are to be added to a fixture.
func (o *secretOptions) clean(events []store.Event, command []string) error {
	r, err := o.redactor(memstore.New(), store.Header{Command: command})
	if err != nil || r == nil {
		return err
	}
	c := recorder.NewCleaner(r)
	for i := range events {
		events[i] = c.Clean(events[i])
	}
	return nil
}
