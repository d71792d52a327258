package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	api "github.com/nats-io/nats.go/jetstream"
)

// openStreams finds or makes the two streams.
func (s *Stream) openStreams(ctx context.Context) error {
	version := s.conn.ConnectedServerVersion()
	if !atLeast(version, 2, 11) {
		return fmt.Errorf("the server is NATS %s; sharing needs 2.11 or newer, and 2.12 for large events", version)
	}
	options := s.options
	s.chunks = options.stream()
	s.entries = s.chunks + "_META"
	s.subjects = strings.ToLower(s.chunks) + "."
	s.room = min(maxMessage, int(s.conn.MaxPayload())-headerRoom)
	if s.room < minMessage {
		return fmt.Errorf("the server takes messages of up to %d bytes; set max_payload to %d or more", s.conn.MaxPayload(), minMessage+headerRoom)
	}
	chunks, err := s.findOrMake(ctx, api.StreamConfig{
		Name: s.chunks, Description: "mcprec: the events of the sessions", Subjects: []string{s.subjects + "s.*"},
		Storage: api.FileStorage, Discard: api.DiscardNew, MaxBytes: cmp.Or(options.MaxBytes, -1), MaxAge: options.MaxAge,
		AllowAtomicPublish: atLeast(version, 2, 12),
	})
	if err != nil {
		return err
	}
	entries, err := s.findOrMake(ctx, api.StreamConfig{
		Name: s.entries, Description: "mcprec: an entry for each session", Subjects: []string{s.subjects + "m.*"},
		Storage: api.FileStorage, Discard: api.DiscardOld, MaxMsgsPerSubject: 1, MaxAge: options.MaxAge,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(checkStream(chunks, s.subjects+"s.*", false), checkStream(entries, s.subjects+"m.*", true)); err != nil {
		return err
	}
	if bound := options.MaxBytes; bound != 0 && chunks.MaxBytes != bound {
		return fmt.Errorf("stream %s exists with max_bytes %d, and not %d: change it with nats stream edit %[1]s --max-bytes=%[3]d", s.chunks, chunks.MaxBytes, bound)
	}
	if age := options.MaxAge; age != 0 && (chunks.MaxAge != age || entries.MaxAge != age) {
		return fmt.Errorf("streams %s and %s exist with max_age %v and %v, and not %v: change them with nats stream edit --max-age=%[5]v", s.chunks, s.entries, chunks.MaxAge, entries.MaxAge, age)
	}
	s.batches = chunks.AllowAtomicPublish
	if chunks.MaxMsgSize > 0 {
		s.room = min(s.room, int(chunks.MaxMsgSize)-headerRoom)
	}
	s.Replicas = chunks.Replicas
	return nil
}

// findOrMake returns the configuration of a stream, which it makes if there is none.
func (l *link) findOrMake(ctx context.Context, want api.StreamConfig) (found api.StreamConfig, err error) {
	replicas := []int{l.options.Replicas}
	if l.options.Replicas == 0 {
		replicas = []int{3, 1}
	}
	err = l.retry(ctx, func(ctx context.Context) error {
		handle, err := l.js.Stream(ctx, want.Name)
		if err == nil {
			found = handle.CachedInfo().Config
		}
		return err
	})
	if !errors.Is(err, api.ErrStreamNotFound) {
		return found, wrapStream(want.Name, "find", err)
	}
	if !l.options.Make {
		return found, fmt.Errorf("there is no stream %s: correct the name, or make it with mcprec-share make", want.Name)
	}
	for _, want.Replicas = range replicas {
		err = l.retry(ctx, func(ctx context.Context) error {
			handle, err := l.js.CreateStream(ctx, want)
			if errors.Is(err, api.ErrStreamNameAlreadyInUse) { // somebody else makes it now
				handle, err = l.js.Stream(ctx, want.Name)
			}
			if err == nil {
				found = handle.CachedInfo().Config
			}
			return err
		})
		if code := errorCode(err); code != codeNoPeers && code != codeNoReplicas {
			break
		}
	}
	return found, wrapStream(want.Name, "make", err)
}

func wrapStream(name, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s stream %s: %w", what, name, err)
}

// checkStream says which settings of a stream break a promise of the store, and what to change.
func checkStream(config api.StreamConfig, subject string, entries bool) error {
	var bad []string
	add := func(broken bool, what, change string) {
		if broken {
			bad = append(bad, fmt.Sprintf("%s (%s)", what, change))
		}
	}
	add(!slices.Contains(config.Subjects, subject), "it does not take "+subject, "add the subject")
	add(config.Mirror != nil, "it is a mirror", "use the stream that it mirrors")
	add(config.Sealed, "it is sealed", "use another stream")
	add(config.NoAck, "it acknowledges nothing", "set no_ack to false")
	add(config.Storage != api.FileStorage, "it keeps messages in memory", "make it with file storage")
	add(config.Retention != api.LimitsPolicy, "it drops what was read", "set retention to limits")
	if entries {
		add(config.MaxMsgsPerSubject != 1, "it keeps old entries", "set max_msgs_per_subject to 1")
		add(config.MaxMsgs > 0 || config.MaxBytes > 0, "it has a limit", "set max_msgs and max_bytes to -1")
	} else {
		add(config.MaxMsgsPerSubject > 0, "it drops chunks of long sessions", "set max_msgs_per_subject to -1")
		add(config.Discard != api.DiscardNew && (config.MaxBytes > 0 || config.MaxMsgs > 0), "it drops old sessions when it is full", "set discard to new")
	}
	if len(bad) > 0 {
		return fmt.Errorf("stream %s is no place for sessions: %s", config.Name, strings.Join(bad, "; "))
	}
	return nil
}

// atLeast reports whether a server's version is at least major.minor. An unknown form passes.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return true
	}
	first, err1 := strconv.Atoi(parts[0])
	second, err2 := strconv.Atoi(parts[1])
	return err1 != nil || err2 != nil || first > major || first == major && second >= minor
}
