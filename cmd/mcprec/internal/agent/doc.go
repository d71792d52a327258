// Package agent answers an agent's questions about recorded sessions, as an MCP server on the
// official Go SDK. It is the server of mcprec mcp.
//
// # What it promises
//
// The answers are those of the commands why, list, show, check, diff, state and replay: the data is what
// the command prints with --format json, from the same functions of package report, and the text is in
// its words. An answer has members of its own for what the command does not print, such as a part of a
// payload that is too long. No answer is larger than the bound of its tool, whatever was recorded; it says
// what it leaves out, with the arguments that get it. Recorded text is data: it is masked, its control
// characters are harmless, and it stands under recorded_data, or behind "| " in the text of an answer,
// apart from mcprec's own words. A bad argument gives a tool error that says what to do.
//
// The session in which the [Server] itself is recorded is never listed, counted, read or searched,
// and neither is any other session of mcprec mcp: an agent that reads its own questions would never
// end. Name and title of [implementation] tell these sessions from others.
//
// # Data layout
//
// server.go has the tools and the prompt, argument.go their arguments, answer.go an answer and its
// bound, recordings.go the sessions that an agent may see. The tools are in hangs.go, sessions.go, events.go
// and verdicts.go; resources.go has the fixtures, and stdio.go serves one client on standard input and output.
//
// # What it refuses
//
// It starts no process, speaks to no recorded server, and writes nothing, not even what the
// commands keep in the store for the next reader. It takes ids of sessions in one store, and no
// path. It never shows a secret: its owner has the commands for that.
package agent
