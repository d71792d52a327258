package filter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// The words of status:. A call may be several of them: answered and cancelled, say.
var statusWords = map[string]func(*subject) bool{
	"pending":   ofCall(func(c *replay.Call) bool { return c.Response == 0 && c.Cancelled == 0 }),
	"ok":        ofCall(func(c *replay.Call) bool { return c.Response != 0 && c.Failure == "" }),
	"error":     isError,
	"err":       isError,
	"cancelled": ofCall(func(c *replay.Call) bool { return c.Cancelled != 0 }),
	"late":      ofCall(func(c *replay.Call) bool { return c.Late }),
	"orphan":    isOrphan,
}

const statusWants = "one of pending, ok, error, cancelled, late, orphan, or a number such as 404, 4xx or -32601"

func statuses(v value) (func(*subject) bool, error) {
	if fits, ok := statusWords[v.text]; ok {
		return fits, nil
	}
	if _, err := strconv.Atoi(v.text); err == nil {
		return func(s *subject) bool { return slices.Contains(s.codes(), v.text) }, nil
	}
	if class, ok := strings.CutSuffix(v.text, "xx"); ok && len(class) == 1 && '1' <= class[0] && class[0] <= '5' {
		return func(s *subject) bool { return s.httpStatus()/100 == int(class[0]-'0') }, nil
	}
	return nil, fault(v.at, "status: wants %s, not %s", statusWants, strconv.Quote(shorten(v.text)))
}

func ofCall(is func(*replay.Call) bool) func(*subject) bool {
	return func(s *subject) bool { return s.call != nil && is(s.call) }
}

// isError: a call that failed, an error that answers no call, an HTTP status from 400 on.
func isError(s *subject) bool {
	switch {
	case s.call != nil:
		return s.call.Failure != ""
	case s.message != nil:
		return s.message.Failure != ""
	}
	return s.httpStatus() >= 400
}

// isOrphan: an answer, progress or a cancellation that belongs to no call.
func isOrphan(s *subject) bool {
	m := s.message
	if m == nil || s.call != nil {
		return false
	}
	return m.Kind == transport.Response || m.Method == "notifications/progress" || m.Method == "notifications/cancelled"
}

// codes are the numbers that say how something ended.
func (s *subject) codes() (list []string) {
	if n := s.httpStatus(); n != 0 {
		list = append(list, strconv.Itoa(n))
	}
	var failures []string
	if s.message != nil {
		failures = append(failures, s.message.Failure)
	}
	if s.call != nil {
		failures = append(failures, s.call.Failure)
	}
	for _, f := range failures {
		if words := strings.Fields(f); len(words) > 1 && words[0] == "error" {
			list = append(list, words[1])
		}
	}
	return list
}

// httpStatus is that of an HTTP answer, 0 for anything else.
func (s *subject) httpStatus() int {
	if s.entry.Kind != store.HTTP {
		return 0
	}
	info, err := store.DecodePayload[store.HTTPInfo](store.Event{Kind: store.HTTP, Payload: s.entry.Payload})
	if err != nil {
		return 0
	}
	return info.Status
}
