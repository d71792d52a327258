package order

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// judgeProgress is rule P3.
func (c *Checker) judgeProgress(dir transport.Direction, m *message, known Mark) {
	token := m.progressToken
	if dir == transport.ClientToServer && c.stateless() {
		c.breaks(lawProgressFrom, dir, "progress for token %s", token)
		return
	}
	x := c.end(dir.Reverse()).withToken(m.token)
	switch {
	case x == nil && c.end(dir.Reverse()).pastTokens.has(m.token):
		c.breaks(lawProgressEnds, dir, "progress for token %s after the response to its request", token)
	case x == nil:
		c.breaks(lawToken, dir, "progress for token %s, which no request of the %s had", orNone(token), dir.Receiver())
	case !knows(x.given, known):
		c.breaks(lawToken, dir, "progress of %v before it had received the request", x)
	case x.Answered && (!x.task || x.ended):
		c.breaks(lawProgressEnds, dir, "progress of %v after the response", x)
	case c.stateless() && knows(x.cancelGiven, known):
		c.breaks(lawCancelled, dir, "progress of %v after it had received its cancellation", x)
	case falls(x.progress, transport.Member(m.Params, "progress")):
		c.breaks(lawProgressRises, dir, "progress %s of %v after %s", transport.Member(m.Params, "progress"), x, x.progress)
	}
}

func (c *Checker) sentProgress(dir transport.Direction, m *message) {
	if x := c.end(dir.Reverse()).withToken(m.token); x != nil {
		x.progressBefore, x.progressStream = x.progress, m.stream
		x.progress = bytes.Clone(transport.Member(m.Params, "progress"))
	}
}

// falls reports whether a number is not above the one before. Numbers that a
// float64 cannot tell apart though they are written differently are let pass.
func falls(before, now json.RawMessage) bool {
	a, err := strconv.ParseFloat(string(before), 64)
	b, err2 := strconv.ParseFloat(string(now), 64)
	if err != nil || err2 != nil {
		return false
	}
	return b < a || b == a && (string(before) == string(now) || a < 1<<53 && a > -1<<53)
}

func orNone(raw json.RawMessage) string {
	if raw == nil {
		return "(none)"
	}
	return string(raw)
}
