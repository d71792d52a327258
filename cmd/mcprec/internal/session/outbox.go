package session

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/mask"
)

// An outbox is the folder in which what is recorded for a shared store waits on this machine. Beside it
// is a file with the URL of the store, for those who send later what is left:
//
//	<state folder>/outbox/<name>       the outbox
//	<state folder>/outbox/<name>.url   the URL as it was given, only its user's to read (0600)

const urlEnding = ".url"

// keepURL keeps the URL of a shared store beside its outbox, for commands that name no store.
func (p place) keepURL(folder string) error {
	home := Home{Place: p.text}
	url, err := home.Absolute()
	if err != nil {
		return err
	}
	path := folder + urlEnding
	if held, err := os.ReadFile(path); err == nil && string(held) == url+"\n" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	_ = os.Remove(path) // which may have wider rights
	return os.WriteFile(path, []byte(url+"\n"), 0o600)
}

// Outboxes returns the places of the shared stores that this machine has recorded for. They may have
// passwords.
func Outboxes() (places []string, err error) {
	state, err := StateFolder()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(state, "outbox", "*"+urlEnding))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return places, err
		}
		places = append(places, strings.TrimSpace(string(text)))
	}
	return places, err
}

// ReadMaskKey reads a file with a key for placeholders: 32 bytes in hexadecimal or base64.
func ReadMaskKey(path string) ([]byte, error) {
	const size = 32
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 1<<10))
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	key, err := hex.DecodeString(string(text))
	if err != nil || len(key) != size {
		key, err = base64.StdEncoding.DecodeString(string(text))
	}
	if err != nil || len(key) != size {
		return nil, fmt.Errorf("%s: want %d bytes in hexadecimal or base64, as openssl rand -hex %d prints", path, size, size)
	}
	return key, nil
}

// readTeamKey reads the file of --mask-key-file.
func readTeamKey(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	key, err := ReadMaskKey(path)
	if err != nil {
		return nil, exit.Usagef("--mask-key-file: %w", err)
	}
	return key, nil
}

// ShippedRules returns the rules by which a session for a shared store is masked: those of the flags. An
// environment variable that is not set here has no value to mask. It is left out, so that another process
// can send the session without that variable.
func (o *Secrets) ShippedRules() *store.MaskRules {
	rules := o.MaskRules
	rules.Env = slices.DeleteFunc(slices.Clone(rules.Env), func(name string) bool { return os.Getenv(name) == "" })
	return &rules
}

// maskShipped returns the function that masks the events of a session on their way to a shared store, by
// the rules in its header.
func maskShipped(key []byte, header store.Header) (func(store.Event) store.Event, error) {
	o := Secrets{}
	if header.Masked != nil {
		o.MaskRules = *header.Masked
	}
	for _, name := range o.Env {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf("the value of %s is to be masked, and is not known here: set %s to what it was in the recorder", name, name)
		}
	}
	rules, err := o.Rules()
	if err != nil {
		return nil, err
	}
	inner, err := mask.New(key, rules)
	if err != nil {
		return nil, err
	}
	return Masker{inner: inner}.Of(header).InOrder(), nil
}

// shippedSummary is the summary of a session on its way to a shared store.
type shippedSummary struct{ *summary.Fold }

// Data returns the summary of the events so far.
func (s shippedSummary) Data() []byte {
	made := s.Close(0)
	return made.Encode()
}
