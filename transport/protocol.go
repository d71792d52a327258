package transport

import (
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/acp"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Protocol is a protocol of JSON-RPC messages, as its name stands in a sentence; "" is not known.
type Protocol string

// The protocols that are told apart.
//
// To add one: name it here, and let [ProtocolOf] tell it by what its first requests say; a row of
// TestProtocolOf has one. If a person answers its requests, [Protocol.AsksPerson] says which.
const (
	MCP   Protocol = "the Model Context Protocol"
	ACP   Protocol = "the Agent Client Protocol"
	LSP   Protocol = "the Language Server Protocol"
	BSP   Protocol = "the Build Server Protocol"
	Other Protocol = "another protocol of JSON-RPC"
)

// IsForeign reports whether the protocol is known not to be MCP, whose rules then do not hold.
func (p Protocol) IsForeign() bool { return p != "" && p != MCP }

// AsksPerson reports whether a person answers a request of the server in a protocol that is not MCP.
func (p Protocol) AsksPerson(method string) bool {
	return p == ACP && method == acp.MethodPermission || p == LSP && method == "window/showMessageRequest"
}

// ProtocolOf returns the protocol that a request shows; "" if any protocol may have it. Protocols with a
// request initialize differ in its params, and others in the names of their methods. An initialize that
// could be one of MCP with faults is one.
func ProtocolOf(m Message) Protocol {
	if m.Kind() != Request {
		return ""
	}
	if m.Method != mcp.MethodInitialize {
		prefix, _, hasPrefix := strings.Cut(m.Method, "/")
		switch {
		case slices.Contains(mcp.Methods(), m.Method):
			return MCP
		case m.Method == "build/initialize":
			return BSP
		case m.Method == acp.MethodNew || m.Method == acp.MethodLoad || m.Method == acp.MethodPrompt:
			return ACP
		case hasPrefix && (prefix == "textDocument" || prefix == "workspace" || prefix == "$"):
			return LSP
		}
		return ""
	}
	has := func(path ...string) bool { return Member(m.Params, path...) != nil }
	version := Member(m.Params, mcp.MemberProtocolVersion)
	switch {
	case len(version) > 0 && version[0] != '"' && !has("capabilities"):
		return ACP // a number; MCP has the text of a date
	case version != nil:
		return MCP
	case has("processId"), has("rootUri"), has("rootPath"), has("workspaceFolders"),
		has("capabilities", "textDocument"), has("capabilities", "workspace"):
		return LSP
	case has("capabilities"):
		return MCP
	}
	return Other
}
