package recorder

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/recorder/redact"
	"github.com/mcprec/mcprec/store"
)

// Option changes how a Recorder records.
type Option func(*Recorder)

// Redact has the recorder take secrets out of the log by r, and not by the rules that
// are built in; nil: what passes is recorded as it is. What passes is never changed.
func Redact(r *redact.Redactor) Option {
	return func(rec *Recorder) { rec.redactor, rec.chosen = r, true }
}

// Secrets returns a Redactor for sessions in the store: with the store's key, the rules
// that are built in and those that are given, and the secrets of this process's
// environment and of the header's command line and URL. With a store that keeps no key,
// or cannot, one is made that lives as long as the Redactor: the error says so, and the
// Redactor is good all the same.
func Secrets(s store.Spooler, h store.Header, rules redact.Rules) (*redact.Redactor, error) {
	key, fault := []byte(nil), error(nil)
	if keyed, ok := s.(store.Keyed); ok {
		key, fault = keyOf(keyed)
	}
	if key == nil {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	values := append(rules.Values[:len(rules.Values):len(rules.Values)], redact.EnvValues(os.Environ(), nil)...)
	values = append(values, redact.ArgValues(h.Command)...)
	rules.Values = append(values, redact.URLValues(h.URL)...)
	r, err := redact.New(key, rules)
	if err != nil {
		return nil, err
	}
	return r, fault
}

// keyTime is how long the beginning of a session waits for the store's key.
const keyTime = 2 * time.Second

// keyOf returns the store's key, if the disk that has it answers.
func keyOf(s store.Keyed) (key []byte, err error) {
	var got []byte
	var fault error
	done := make(chan struct{})
	go func() { // left behind when the disk does not answer: nothing can end it
		got, fault = s.RedactionKey()
		close(done)
	}()
	t := time.NewTimer(keyTime)
	defer t.Stop()
	select {
	case <-done:
		return got, fault
	case <-t.C:
		return nil, fmt.Errorf("read the key for redaction: %w", ErrNoAnswer)
	}
}

// inHeader takes the secrets out of the header.
func (r *Recorder) inHeader() {
	if r.redactor == nil {
		return
	}
	h := &r.header
	command := make([]string, len(h.Command))
	for i, arg := range h.Command {
		command[i] = r.without(arg, &h.Redacted)
	}
	if h.Command != nil {
		h.Command = command
	}
	h.URL = r.without(h.URL, &h.Redacted)
	h.Label = r.without(h.Label, &h.Redacted)
	labels := make(map[string]string, len(h.Labels))
	for name, value := range h.Labels {
		labels[name] = r.without(value, &h.Redacted)
	}
	if h.Labels != nil {
		h.Labels = labels
	}
}

// without returns a text without its secrets, and adds to their count.
func (r *Recorder) without(text string, count *uint64) string {
	if r.harmless[text] {
		return text
	}
	clean, n := r.redactor.String(text)
	*count += uint64(n)
	if n == 0 && len(text) <= maxHarmless && len(r.harmless) < maxHarmless {
		if r.harmless == nil {
			r.harmless = map[string]bool{}
		}
		r.harmless[text] = true
	}
	return clean
}

// maxHarmless bounds the texts that are known to have no secret, in their number and
// in length: paths and headers are the same in most exchanges.
const maxHarmless = 256

// clean returns a whole payload without its secrets, and how many there were.
func (r *Recorder) clean(payload []byte) ([]byte, uint64) {
	if r.redactor == nil {
		return payload, 0
	}
	b, n := r.redactor.Frame(payload)
	return b, uint64(n)
}

// stream returns what takes the secrets out of one direction, or nil.
func (r *Recorder) stream(lines bool) *redact.Stream {
	if r.redactor == nil {
		return nil
	}
	return r.redactor.Stream(lines)
}

// next is the stretch of a stream that is to be logged.
func next(s *redact.Stream, chunk []byte, more bool) ([]byte, uint64) {
	if s == nil {
		return chunk, 0
	}
	b, n := s.Next(chunk, more)
	return b, uint64(n)
}

// immuneHeader are headers of the protocol, by which messages are told apart.
var immuneHeader = map[string]bool{"Mcp-Session-Id": true, "Last-Event-Id": true, "Mcp-Method": true, "Mcp-Protocol-Version": true}

// inInfo takes the secrets out of what HTTP says around frames, but for a body, and
// returns their count.
func (r *Recorder) inInfo(info *store.HTTPInfo) (n uint64) {
	if r.redactor == nil {
		return 0
	}
	info.Path = r.without(info.Path, &n)
	info.Error = r.without(info.Error, &n)
	for name, values := range info.Header {
		if immuneHeader[http.CanonicalHeaderKey(name)] {
			continue
		}
		if clean, k := r.inValues(name, values); k > 0 {
			info.Header[name] = clean
			n += k
		}
	}
	if info.What == store.HTTPBody || info.Coding != "" {
		return n
	}
	if info.Body != "" || info.Body64 != nil {
		body := info.Body64
		if body == nil {
			body = []byte(info.Body)
		}
		body, k := r.clean(body)
		info.SetBody(body)
		n += k
	}
	if info.SSE != nil {
		r.inEvent(info.SSE, &n)
	}
	return n
}

// inValues takes the secrets out of the values of a header, which are shared.
func (r *Recorder) inValues(name string, values []string) (clean []string, n uint64) {
	for i, v := range values {
		text, k := v, uint64(0)
		if http.CanonicalHeaderKey(name) == "Mcp-Name" {
			uri, found := r.redactor.URI(v)
			text, k = uri, uint64(found)
		} else {
			text = r.without(v, &k)
		}
		if k > 0 && clean == nil {
			clean = slices.Clone(values)
		}
		if k > 0 {
			clean[i] = text
			n += k
		}
	}
	return clean, n
}

// inEvent takes the secrets out of comments, and of fields that the specification does
// not know.
func (r *Recorder) inEvent(e *store.SSEInfo, n *uint64) {
	for i, line := range e.Lines {
		switch name, _, _ := strings.Cut(line, ":"); name {
		case "id", "event", "retry", "data":
		default:
			e.Lines[i] = r.without(line, n)
		}
	}
	if e.Raw != nil {
		e.Raw = []byte(r.without(string(e.Raw), n))
	}
}
