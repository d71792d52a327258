package order

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/acp"
	"github.com/mcprec/mcprec/transport/mcp"
)

// The versions of the Agent Client Protocol that have something.
var (
	agentsAlways = mcp.Range{First: acp.Version1, Last: acp.Version2}
	agentsTurns  = mcp.Range{First: acp.Version1, Last: acp.Version1} // version 2 tells what a turn does at any time
)

// The rules of the Agent Client Protocol.
var (
	agentInitialized = newLaw(law{"A1", "initialize is answered before anything else is asked", Error, pageAgentInitialization, "Initialization", agentsAlways})
	sessionReady     = newLaw(law{"A1", "a session is set up before it is used", Error, pageAgentPrompt, "Prompt Turn", agentsAlways})

	updateKnown   = newLaw(law{"A2", "an update is of a session that the client knows", Warning, pageAgentSetup, "Session ID", agentsAlways})
	resumeIsQuiet = newLaw(law{"A2", "session/resume is answered before anything of the conversation is sent", Error, pageAgentSetup, "Resuming Sessions", agentsTurns})
	turnTold      = newLaw(law{"A2", "what a turn does is told before session/prompt is answered", Warning, pageAgentPrompt, "4. Check for Completion", agentsTurns})
	cancelTold    = newLaw(law{"A2", "what a cancelled turn still does is told before session/prompt is answered", Error, pageAgentPrompt, "Cancellation", agentsTurns})

	permissionCancelled = newLaw(law{"A3", "a permission asked for in a cancelled turn is answered with cancelled", Error, pageAgentPrompt, "Cancellation", agentsTurns})
	turnCancelled       = newLaw(law{"A3", "a cancelled turn ends with the stop reason cancelled", Warning, pageAgentPrompt, "Cancellation", agentsTurns})
)

// agents judges a session of the Agent Client Protocol, whose server is an agent. It judges nothing before it has
// seen an initialize: a recording may begin in the middle.
type agents struct {
	initialize *request
	early      string // the first request before it
	version    string
	sessions   map[string]*agentSession // by id
	opening    int                      // requests session/new without an answer
	cancels    []*agentSession          // of the cancellations on their way to the agent; nil: of no session with a turn
}

// agentSession is one conversation.
type agentSession struct {
	setUp     *request // session/new, session/load or session/resume; nil: the session was never set up here
	turn      *request // the latest prompt
	cancelled bool     // the client has cancelled the turn
	heard     Mark     // when the agent had that cancellation
}

// judge judges a message by the sender's knowledge.
func (a *agents) judge(v *violations, step *timeline.Step, m *timeline.Message, req *request, known Mark) {
	fromClient := step.Dir == transport.ClientToServer
	id := transport.MemberText(m.Params, acp.MemberSessionID)
	s := a.sessions[id]
	switch {
	case m.Kind == transport.Request && fromClient && m.Method == mcp.MethodInitialize:
		if a.early != "" && a.initialize == nil {
			a.add(v, agentInitialized, step.Dir, "initialize (id %s) after %s", m.ID, a.early)
		}
	case a.initialize == nil:
	case m.Kind == transport.Request && fromClient && !knows(a.initialize.answerReceived, known):
		a.add(v, agentInitialized, step.Dir, "%s (id %s) before it had received the response to initialize", m.Method, m.ID)
	case m.Kind != transport.Response && fromClient && (m.Method == acp.MethodPrompt || m.Method == acp.Cancel):
		if s == nil || s.setUp == nil || !knows(s.setUp.answerReceived, known) {
			a.add(v, sessionReady, step.Dir, "%s for the session %q before that was set up", m.Method, id)
		}
	case m.Kind == transport.Notification && m.Method == acp.Update && !fromClient:
		a.judgeUpdate(v, step.Dir, m, id, s)
	case m.Kind == transport.Response && req != nil:
		a.judgeResponse(v, step.Dir, m, req, known)
	}
}

// judgeUpdate is rule A2.
func (a *agents) judgeUpdate(v *violations, dir transport.Direction, m *timeline.Message, id string, s *agentSession) {
	kind := transport.MemberText(m.Params, acp.MemberUpdate, acp.MemberKind)
	told := fmt.Sprintf("the update %s of the session %q", kind, id)
	switch {
	case s == nil && a.opening > 0:
		a.add(v, updateKnown, dir, "%s before the response to session/new", told)
	case s == nil:
		a.add(v, updateKnown, dir, "%s, which was never set up", told)
	case !acp.IsOfTurn(kind):
	case s.setUp != nil && s.setUp.of.Method == acp.MethodResume && !s.setUp.answered:
		a.add(v, resumeIsQuiet, dir, "%s before the response to %v", told, s.setUp)
	case s.turn == nil || !s.turn.answered:
	case s.cancelled:
		a.add(v, cancelTold, dir, "%s after the response to %v, which was cancelled", told, s.turn)
	default:
		a.add(v, turnTold, dir, "%s after the response to %v", told, s.turn)
	}
}

// judgeResponse is rule A3.
func (a *agents) judgeResponse(v *violations, dir transport.Direction, m *timeline.Message, req *request, known Mark) {
	s := req.agentSession
	switch {
	case s == nil || !s.cancelled:
	case req.of.Method == acp.MethodPermission && s.turn != nil && !s.turn.answered && m.Result != nil:
		if outcome := transport.MemberText(m.Result, acp.MemberOutcome, acp.MemberOutcome); outcome != acp.Cancelled {
			a.add(v, permissionCancelled, dir, "the outcome %q for %v, whose turn it had cancelled", outcome, req)
		}
	case req == s.turn && knows(s.heard, known):
		if m.Result == nil {
			a.add(v, turnCancelled, dir, "an error for %v, after it had received session/cancel", req)
		} else if reason := transport.MemberText(m.Result, acp.MemberStopReason); reason != acp.Cancelled {
			a.add(v, turnCancelled, dir, "the stop reason %q for %v, after it had received session/cancel", reason, req)
		}
	}
}

// sent keeps the effects of a message on the wire. req is what the checker keeps of its call.
func (a *agents) sent(step *timeline.Step, m *timeline.Message, req *request) {
	id := transport.MemberText(m.Params, acp.MemberSessionID)
	switch {
	case m.Kind == transport.Notification && m.Method == acp.Cancel && step.Dir == transport.ClientToServer:
		s := a.sessions[id]
		if s != nil && s.turn != nil && !s.turn.answered {
			s.cancelled = true
		}
		a.cancels = append(a.cancels, s)
	case m.Kind == transport.Response && req != nil:
		a.sentResponse(m, req)
	case m.Kind != transport.Request || req == nil:
	case m.Method == acp.MethodPermission:
		req.agentSession = a.sessions[id]
	case step.Dir != transport.ClientToServer:
	case m.Method == mcp.MethodInitialize:
		*a = agents{initialize: req, early: a.early, sessions: map[string]*agentSession{}}
	case a.initialize == nil:
		if a.early == "" && strings.HasPrefix(m.Method, acp.SessionPrefix) {
			a.early = req.String()
		}
	case m.Method == acp.MethodNew:
		a.opening++
	case m.Method == acp.MethodLoad || m.Method == acp.MethodResume:
		a.sessions[id] = &agentSession{setUp: req}
	case m.Method == acp.MethodPrompt:
		if s := a.sessions[id]; s != nil {
			s.turn, s.cancelled, s.heard = req, false, 0
			req.agentSession = s
		}
	}
}

func (a *agents) sentResponse(m *timeline.Message, req *request) {
	switch {
	case req == a.initialize:
		a.version = acp.Version(string(transport.Member(m.Result, mcp.MemberProtocolVersion)))
	case req.of.Method == acp.MethodNew && req.of.Dir == transport.ClientToServer:
		a.opening = max(0, a.opening-1)
	}
	// Whatever answers with the id of a session has set it up: session/new, and what extensions call otherwise.
	if id := transport.MemberText(m.Result, acp.MemberSessionID); id != "" && a.sessions != nil && a.sessions[id] == nil {
		a.sessions[id] = &agentSession{setUp: req}
	}
}

// received keeps when the agent had the cancellation of a turn. The agent has them in the order in which they were sent.
func (a *agents) received(m *timeline.Message, at Mark) {
	if m.Kind == transport.Notification && m.Method == acp.Cancel && len(a.cancels) > 0 {
		if s := a.cancels[0]; s != nil && s.heard == 0 {
			s.heard = at
		}
		a.cancels = a.cancels[1:]
	}
}

// add notes a violation if the version that was agreed on has the law.
func (a *agents) add(v *violations, law law, dir transport.Direction, format string, args ...any) {
	version := cmp.Or(a.version, acp.Version1)
	if !law.in.Has(version) {
		return
	}
	v.add(law, dir, format, args...)
	v.found[len(v.found)-1].Revision = version
}
