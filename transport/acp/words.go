// Package acp has the words of the Agent Client Protocol, each in one place: methods, members, and the versions that
// differ in what may be sent when.
//
// # Promises
//
// Every other package takes these words from here. The source is the protocol's documentation of version 1 and the
// draft of version 2, as of August 2026. The client is an editor, the server of a recording is the agent.
//
// # What it refuses
//
// It has only the words that mcprec asks for. It reads no message: package transport does.
package acp

// The methods of the client's requests, and its notification that ends a turn.
const (
	MethodNew    = "session/new"
	MethodLoad   = "session/load"
	MethodResume = "session/resume"
	MethodPrompt = "session/prompt"
	Cancel       = "session/cancel"

	// SessionPrefix begins the methods about a session.
	SessionPrefix = "session/"
)

// The agent's request that a person answers, and its notification of what it does.
const (
	MethodPermission = "session/request_permission"
	Update           = "session/update"
)

// Members of params and results.
const (
	MemberSessionID  = "sessionId"
	MemberUpdate     = "update"
	MemberKind       = "sessionUpdate" // of an update
	MemberOutcome    = "outcome"       // of an answered permission, twice: {"outcome":{"outcome":"cancelled"}}
	MemberStopReason = "stopReason"
	Cancelled        = "cancelled" // an outcome and a stop reason
)

// Versions, as the rules of order name them. Version 1 has turns: a prompt is answered when all that it led to is told.
// In version 2 a prompt is answered at once, and updates come at any time.
const (
	Version1 = "ACP 1"
	Version2 = "ACP 2"
)

// Version returns the name of a version, which is a number on the wire.
func Version(number string) string { return "ACP " + number }

// IsOfTurn reports whether an update of this kind tells what a turn does. Other kinds, such as
// available_commands_update, may come at any time.
func IsOfTurn(kind string) bool {
	switch kind {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		return true
	}
	return false
}
