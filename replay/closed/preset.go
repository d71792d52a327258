package closed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Preset is one end of an SDK over a range of releases, and the model that the source of
// these releases shows. A preset is about stdio and streams in memory; over HTTP an SDK may
// read each request on its own.
type Preset struct {
	SDK string
	// From and Through are the first and the last release that were read or run. Every
	// release between them counts, and so does every patch of Through.
	From, Through string
	End           transport.Direction // the end that sends in this direction; 0: both ends
	Model         Model
	If            string // what the model takes for granted about the program; "" for nothing
	Why           string // what in the source makes it so
	Source        string // repository, file and line at a release, or an issue
	Fixture       string // the bundled session that shows it
	Expect        string // what the fixture says when this end alone has the model
}

// presets are the known ends, for each SDK from the oldest release to the newest. "from
// the source" below means: the receive loop was read at the releases named in Source.
//
// Two known gaps. The models have no queue in which requests wait behind a notification's
// handler: go-sdk reads on meanwhile, so it is independent, but the peer's request waits (see
// gosdk-handler-calls.jsonl). mcp-go 1.2 runs the handlers of a server's notifications on
// the reader, and is independent otherwise.
var presets = []Preset{
	{
		SDK: "python-sdk", From: "0.2", Through: "1.5", End: transport.ClientToServer, Model: NotificationQueue(0),
		Why:     "the receive loop awaits a send to _incoming_message_stream, which has no buffer and which a program that only calls never reads",
		Source:  "modelcontextprotocol/python-sdk v1.3.0 src/mcp/shared/session.py:179,327; issues 201, 594",
		Fixture: "pysdk-594.jsonl", Expect: "hang blocked behind a notification",
	},
	{
		SDK: "python-sdk", From: "1.6", Through: "1.29", End: transport.ClientToServer, Model: BlockingHandlers,
		If:      "its message handler asks the server",
		Why:     "the receive loop awaits the callback of each request, the progress callback and the message handler",
		Source:  "modelcontextprotocol/python-sdk v1.29.0 src/mcp/shared/session.py:376,416,427, src/mcp/client/session.py:619",
		Fixture: "list-changed.jsonl", Expect: "hang blocked behind a notification",
	},
	{
		SDK: "python-sdk", From: "2.0", Through: "2.0", End: transport.ClientToServer, Model: Independent,
		Why:     "the dispatcher starts a task for each request and notification",
		Source:  "modelcontextprotocol/python-sdk v2.0.0 src/mcp/shared/jsonrpc_dispatcher.py:606,659",
		Fixture: "list-changed.jsonl", Expect: "pass",
	},
	{
		SDK: "python-sdk", From: "1.3", Through: "2.0", End: transport.ServerToClient, Model: Independent,
		Why:     "the server starts a task for each message; only initialize is answered in the loop",
		Source:  "modelcontextprotocol/python-sdk v1.3.0 src/mcp/server/lowlevel/server.py:494, v2.0.0 src/mcp/shared/jsonrpc_dispatcher.py:606",
		Fixture: "crossing.jsonl", Expect: "pass",
	},
	{
		SDK: "typescript-sdk", From: "1.0", Through: "1.32", Model: Independent,
		Why:     "handlers start with Promise.resolve().then, and the reader does not await them; a write that waits holds nobody else",
		Source:  "modelcontextprotocol/typescript-sdk v1.29.0 src/shared/protocol.ts:685,777 (also read at 1.0.0, 1.11.0, 1.32.2)",
		Fixture: "crossing.jsonl", Expect: "pass",
	},
	{
		SDK: "typescript-sdk", From: "2.0", Through: "2.4", Model: Independent,
		Why:     "as in 1.x",
		Source:  "modelcontextprotocol/typescript-sdk @modelcontextprotocol/client@2.0.0 packages/core-internal/src/shared/protocol.ts:922,1098",
		Fixture: "progress-2026-07-28.jsonl", Expect: "pass",
	},
	{
		SDK: "go-sdk", From: "0.1", Through: "1.8", Model: Independent,
		Why:     "readIncoming gives answers to their callers at once, and requests and notifications to a queue without a bound, which another goroutine works off",
		Source:  "modelcontextprotocol/go-sdk v1.8.0 internal/jsonrpc2/conn.go:513,646",
		Fixture: "list-changed.jsonl", Expect: "pass",
	},
	{
		SDK: "mcp-go", From: "0.20", Through: "1.2", End: transport.ClientToServer, Model: NotificationQueue(0),
		If:      "its notification handler waits while a call is open",
		Why:     "readResponses runs the notification handlers itself",
		Source:  "mark3labs/mcp-go v1.2.1 client/transport/stdio.go:565, v0.20.0 client/stdio.go:160",
		Fixture: "mcpgo-inline.jsonl", Expect: "hang blocked behind a notification",
	},
	{
		SDK: "mcp-go", From: "0.20", Through: "0.32", End: transport.ServerToClient, Model: BlockingHandlers,
		Why:     "processMessage runs every handler to its end before the next line is read",
		Source:  "mark3labs/mcp-go v0.32.0 server/stdio.go:260",
		Fixture: "mcpgo-976-listen.jsonl", Expect: "hang never sent",
	},
	{
		SDK: "mcp-go", From: "0.33", Through: "1.1", End: transport.ServerToClient, Model: BlockingHandlersExceptTools,
		Why:     "processMessage gives tools/call to other goroutines, and runs every other handler to its end before the next line is read",
		Source:  "mark3labs/mcp-go v1.1.0 server/stdio.go:590,610; issue 976",
		Fixture: "mcpgo-976-roots.jsonl", Expect: "hang blocked behind a request",
	},
	{
		SDK: "mcp-go", From: "1.2", Through: "1.2", End: transport.ServerToClient, Model: Independent,
		Why:     "processMessage starts a goroutine for each request",
		Source:  "mark3labs/mcp-go v1.2.1 server/stdio.go:602,625",
		Fixture: "mcpgo-976-roots.jsonl", Expect: "pass",
	},
	{
		SDK: "kotlin-sdk", From: "0.1", Through: "0.14", End: transport.ClientToServer, Model: BlockingHandlers,
		If:      "a handler asks the server",
		Why:     "the transport calls onMessage for each message, and onMessage runs the suspend function of the handler to its end",
		Source:  "modelcontextprotocol/kotlin-sdk 0.14.0 kotlin-sdk-core/…/shared/Protocol.kt:245,314; issue 176, fixed after 0.14",
		Fixture: "list-changed.jsonl", Expect: "hang blocked behind a notification",
	},
	{
		SDK: "kotlin-sdk", From: "0.1", Through: "0.14", End: transport.ServerToClient, Model: BlockingHandlers,
		Why:     "as the client",
		Source:  "modelcontextprotocol/kotlin-sdk 0.14.0 kotlin-sdk-core/…/shared/Protocol.kt:244,314, kotlin-sdk-server/…/server/StdioServerTransport.kt:219; issues 176, 572",
		Fixture: "crossing.jsonl", Expect: "hang blocked behind a request",
	},
	{
		SDK: "java-sdk", From: "0.7", Through: "2.0", Model: Independent,
		If:      "it has the synchronous API without immediateExecution",
		Why:     "fromSync moves handlers and consumers to the boundedElastic scheduler",
		Source:  "modelcontextprotocol/java-sdk v2.0.1 mcp-core/…/server/McpServerFeatures.java:247, mcp-core/…/client/McpClientFeatures.java:166-208",
		Fixture: "crossing.jsonl", Expect: "pass",
	},
	{
		SDK: "rust-sdk", From: "0.2", Through: "3.1", Model: Independent,
		Why:     "the service loop spawns a task for each request and notification",
		Source:  "modelcontextprotocol/rust-sdk rmcp-v3.1.4 crates/rmcp/src/service.rs:1575,1676",
		Fixture: "crossing.jsonl", Expect: "pass",
	},
	{
		SDK: "csharp-sdk", From: "0.1", Through: "2.2", Model: Independent,
		Why:     "ProcessMessageAsync is started for each message and not awaited",
		Source:  "modelcontextprotocol/csharp-sdk v2.2.0 src/ModelContextProtocol.Core/McpSessionHandler.cs:227",
		Fixture: "crossing.jsonl", Expect: "pass",
	},
}

// Presets returns the known ends of SDKs: for each SDK from the oldest release to the newest.
func Presets() []Preset { return slices.Clone(presets) }

// Releases returns the range of releases, such as 1.6 to 1.29.
func (p Preset) Releases() string {
	if p.From == p.Through {
		return p.From
	}
	return p.From + " to " + p.Through
}

// has reports whether the range covers a version. A version may be short: 1 and
// 1.x fit every release of 1.
func (p Preset) has(version string) bool {
	order := func(a, b string) int {
		x := numbers(a)
		y := numbers(b)
		n := min(len(x), len(y))
		return slices.Compare(x[:n], y[:n])
	}
	return numbers(version) != nil && order(version, p.From) >= 0 && order(version, p.Through) <= 0
}

// numbers returns the numbers that a version begins with, as 1 and 3 of 1.3.x or 1.3rc1; nil
// if it begins otherwise.
func numbers(version string) (list []int) {
	for part := range strings.SplitSeq(version, ".") {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			break
		}
		if list = append(list, n); digits != part {
			break
		}
	}
	return list
}

// sdks returns the names of the known SDKs.
func sdks() (names []string) {
	for _, p := range presets {
		if !slices.Contains(names, p.SDK) {
			names = append(names, p.SDK)
		}
	}
	return names
}

// like describes an end of the model that sends in direction end, after "a client" or "a
// server": by the SDK that was named, or else by the first known one with the model.
func (m Model) like(end transport.Direction) string {
	p, release := m.preset, ""
	if p != nil {
		_, release, _ = strings.Cut(m.name, "@")
	} else if i := slices.IndexFunc(presets, func(p Preset) bool { return p.Model == m && (p.End == 0 || p.End == end) }); i >= 0 {
		p = &presets[i]
		release = presets[i].Releases()
	}
	switch {
	case p != nil && p.If != "":
		return fmt.Sprintf("such as %s %s, if %s,", p.SDK, release, p.If)
	case p != nil:
		return fmt.Sprintf("such as %s %s", p.SDK, release)
	case m.kind == singleThreaded:
		return "of one thread (single-threaded)"
	case m.kind == answersInline:
		return "whose reader writes the answers (answers-inline)"
	}
	return fmt.Sprintf("of the model %v", m)
}
