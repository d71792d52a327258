package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/mask"
)

// masking is how events are masked on their way to the stream: by the built-in rules, by the user's, and by those
// that a session was recorded with.
type masking struct {
	store.MaskRules
	keyFile string
}

func (m *masking) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&m.Keys, "mask-key", nil, "mask what is under `KEY`, in JSON and in text; * stands for anything; may be repeated")
	f.StringArrayVar(&m.Patterns, "mask-pattern", nil, "mask what a regular expression `RE` finds; of one with a group, the group")
	f.StringArrayVar(&m.Pointers, "mask-pointer", nil, "mask what is at a JSON `POINTER` of a message")
	f.StringArrayVar(&m.Env, "mask-env", nil, "mask the value of the environment variable `NAME`")
	f.StringVar(&m.keyFile, "mask-key-file", os.Getenv("MCPREC_MASK_KEY_FILE"), "make placeholders with the key in `FILE`, that of a team; without it each machine\nhas its own, and equal secrets have other placeholders on another machine; the\ndefault is $MCPREC_MASK_KEY_FILE")
}

// key returns the key for placeholders: that of the file, else that of the folder.
func (m *masking) key(folder store.Keyed) ([]byte, error) {
	if m.keyFile == "" {
		return folder.RedactionKey()
	}
	key, err := readKey(m.keyFile)
	if err != nil {
		return nil, usagef("--mask-key-file: %w", err)
	}
	return key, nil
}

// readKey reads a file with a key for placeholders: 32 bytes in hexadecimal or base64.
func readKey(path string) ([]byte, error) {
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

// compile returns the rules as package mask takes them.
func compile(rules store.MaskRules) (mask.Rules, error) {
	compiled := mask.Rules{Keys: rules.Keys, Pointers: rules.Pointers, Values: mask.EnvValues(os.Environ(), rules.Env)}
	for _, pattern := range rules.Patterns {
		re, err := regexp.Compile(pattern)
		if err == nil && re.MatchString("") {
			err = fmt.Errorf("it matches an empty text; want one that needs a character")
		}
		if err != nil {
			return compiled, fmt.Errorf("--mask-pattern %s: %w", pattern, err)
		}
		compiled.Patterns = append(compiled.Patterns, re)
	}
	_, err := mask.New(nil, compiled)
	return compiled, err
}

// masker returns the function that masks the events of a session with a header, in their order, and names the
// machine in the label host of the header. The session in the stream is not masked again where it is pulled.
func (m *masking) masker(key []byte, machine string, header store.Header) (func(store.Event) store.Event, error) {
	rules := m.MaskRules
	if own := header.Masked; own != nil {
		rules = store.MaskRules{Keys: slices.Concat(rules.Keys, own.Keys), Patterns: slices.Concat(rules.Patterns, own.Patterns),
			Pointers: slices.Concat(rules.Pointers, own.Pointers), Env: slices.Concat(rules.Env, own.Env)}
		for _, name := range own.Env {
			if os.Getenv(name) == "" {
				return nil, fmt.Errorf("the value of %s is to be masked, and is not known here: set %[1]s to what it was in the recorder", name)
			}
		}
	}
	compiled, err := compile(rules)
	if err != nil {
		return nil, err
	}
	inner, err := mask.New(key, compiled)
	if err != nil {
		return nil, err
	}
	session := inner.Of(header).Session()
	return func(event store.Event) store.Event {
		if event.Seq == 1 {
			named := header
			named.Masked = nil
			if _, given := header.Labels["host"]; !given && machine != "" {
				named.Labels = map[string]string{"host": machine}
				maps.Copy(named.Labels, header.Labels)
			}
			event.Payload = named.Encode()
		}
		return session.Event(event)
	}, nil
}

// labels returns the labels of a session in a line, as mcprec list shows them.
func labels(header store.Header) string {
	var list []string
	if header.Label != "" {
		list = append(list, header.Label)
	}
	for _, name := range slices.Sorted(maps.Keys(header.Labels)) {
		list = append(list, name+"="+header.Labels[name])
	}
	return strings.Join(list, " ")
}
