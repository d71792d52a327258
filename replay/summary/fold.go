package summary

import (
	"bytes"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Fold makes the summary of a session. Use NewFold.
type Fold struct {
	summary Summary
	why     why.Fold
	open    map[*timeline.Call]bool // requests of the client without an answer
}

// NewFold returns the fold of a session without events.
func NewFold() *Fold {
	return &Fold{open: map[*timeline.Call]bool{}}
}

// Take takes the next step.
func (f *Fold) Take(step timeline.Step) error {
	for i := range step.Messages {
		m := &step.Messages[i]
		size := uint64(step.Size() / len(step.Messages)) // of a batch, its share
		switch {
		case m.Call == nil || m.Call.Dir != transport.ClientToServer:
		case m.Role == timeline.Asks:
			f.summary.Requests++
			f.open[m.Call] = true
			if m.Method == mcp.MethodCallTool {
				t := f.tool(m.Call)
				t.Calls++
				t.Bytes += size
			}
			f.onRequest(m)
		case m.Role == timeline.Answers:
			f.onAnswer(m.Call, size)
			if m.Call.Failure == "" {
				f.onResult(m)
			}
		}
	}
	for _, call := range step.Refused {
		if call.Dir == transport.ClientToServer {
			f.onAnswer(call, 0)
		}
	}
	return f.why.Take(step)
}

// onAnswer closes a call. The message in the body of an HTTP status that has answered the call is
// no second answer.
func (f *Fold) onAnswer(call *timeline.Call, size uint64) {
	if !f.open[call] {
		return
	}
	delete(f.open, call)
	failed := uint64(0)
	if call.Failure != "" {
		failed = 1
	}
	f.summary.Errors += failed
	if call.Method == mcp.MethodCallTool {
		t := f.tool(call)
		t.Errors += failed
		t.Bytes += size
		t.Durations.Add(call.Latency)
	}
}

func (f *Fold) tool(call *timeline.Call) *Tool {
	return f.summary.tool(phrase.Shorten(call.Target, maxName))
}

// onRequest keeps what the client says of itself: in initialize, or from 2026-07-28 in any
// request. Few have that, and looking for it is cheap.
func (f *Fold) onRequest(m *timeline.Message) {
	s := &f.summary
	switch {
	case m.Method == mcp.MethodInitialize:
		s.Client.set(transport.Member(m.Params, "clientInfo"))
	case s.Client == Peer{} && bytes.Contains(m.Params, []byte(mcp.MetaClientInfo)):
		meta := transport.Member(m.Params, mcp.MemberMeta)
		s.Client.set(transport.Member(meta, mcp.MetaClientInfo))
		s.Revision = firstText(s.Revision, transport.MemberText(meta, mcp.MetaProtocolVersion))
	}
}

// onResult keeps what the server says of itself: in the result of initialize or of
// server/discover, or from 2026-07-28 in any result.
func (f *Fold) onResult(m *timeline.Message) {
	s := &f.summary
	switch {
	case m.Call.Method == mcp.MethodInitialize:
		s.Server.set(transport.Member(m.Result, mcp.MemberServerInfo))
		s.Revision = firstText(s.Revision, transport.MemberText(m.Result, mcp.MemberProtocolVersion))
	case s.Server != Peer{}:
	case m.Call.Method == mcp.MethodDiscover:
		s.Server.set(transport.Member(m.Result, mcp.MemberServerInfo))
	case bytes.Contains(m.Result, []byte(mcp.MetaServerInfo)):
		s.Server.set(transport.Member(m.Result, mcp.MemberMeta, mcp.MetaServerInfo))
	}
}

// set keeps the first name.
func (p *Peer) set(info []byte) {
	if (*p == Peer{}) {
		*p = Peer{firstText(transport.MemberText(info, "name")), firstText(transport.MemberText(info, "version"))}
	}
}

// firstText returns the first text that is not empty, shortened.
func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return phrase.Shorten(text, maxName)
		}
	}
	return ""
}

// HasCall reports whether the summary has a call that fits a filter of tools and outcomes: see
// filter.Filter.OfToolCalls. It is not known if the summary lacks names of tools.
func (s *Summary) HasCall(fits *filter.Filter) (has, known bool) {
	for i := range s.Tools {
		t := &s.Tools[i]
		if t.Name == others || len(t.Name) >= maxName {
			return false, false
		}
		for _, outcome := range []struct {
			calls uint64
			call  timeline.Call
		}{
			{t.Durations.Count() - t.Errors, timeline.Call{Response: 1}},
			{t.Errors, timeline.Call{Response: 1, Failure: "error"}},
			{t.Open, timeline.Call{}},
			{t.Calls - t.Durations.Count() - t.Open, timeline.Call{Cancelled: 1}},
		} {
			call := outcome.call
			call.Dir = transport.ClientToServer
			call.Method = mcp.MethodCallTool
			call.Target = t.Name
			if outcome.calls > 0 && fits.SelectsCall(&call) {
				return true, true
			}
		}
	}
	return false, true
}

// Close returns the summary. For a session that goes on, now is the present time since its
// start; 0 for any other.
func (f *Fold) Close(now time.Duration) Summary {
	for call := range f.open {
		if call.Cancelled == 0 && call.Method == mcp.MethodCallTool {
			f.tool(call).Open++
		}
	}
	isOpen := map[uint64]*timeline.Call{} // open calls by event; of a batch, its last open request
	for call := range f.open {
		if other := isOpen[call.Request]; other == nil || call.Number() > other.Number() {
			isOpen[call.Request] = call
		}
	}
	for _, finding := range f.why.Report(why.Live{Now: now}, 0).Findings {
		f.summary.Hung++
		for _, seq := range finding.Calls {
			if call := isOpen[seq]; call != nil && call.Method == mcp.MethodCallTool {
				f.tool(call).Hung++
			}
		}
	}
	return f.summary
}
