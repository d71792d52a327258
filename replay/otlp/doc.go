// Package otlp writes a session as OpenTelemetry traces.
//
// # What it promises
//
// Names and attributes follow OpenTelemetry's semantic conventions for MCP (in state
// Development, October 2026). A session always gives the same bytes: ids follow from the
// session's id and the order of its calls. Arguments, results and contents are left out, save
// a server's log and progress messages and the messages of errors. Memory is bounded: spans go
// out in batches as they end.
//
// # Data layout
//
// A session is a trace with one span around everything. Each call, of either end, is a span of
// kind client below the session's, from request to response:
//
//	name        METHOD, and the tool or prompt
//	status      error for an error and for a tool's isError, with the message; error
//	            for a call without an answer, unless it is a subscription
//	attributes  mcp.method.name, mcp.session.id, mcp.protocol.version, gen_ai.tool.name, …;
//	            mcprec.request and mcprec.response are event numbers
//	events      progress, cancellation; "no answer" at the session's end
//
// A call whose request has a traceparent (in params._meta, else in the HTTP header) belongs to
// that trace, below that span, with a link to the session's. A server's call on the HTTP
// stream of a client's call stands below the client's. Other notifications, such as a server's
// log, and lost events are events of the session's span. An answer of the client that HTTP refuses ends no
// span. A span keeps 1000 events and counts
// the rest; a text of a notification is cut after 2 KiB.
//
// The JSON form has a batch a line, as the collector's file exporter writes it; a session of
// less than 8192 calls is one line.
//
// # What it refuses
//
// Noise, standard error and other events of a recording have no place in a trace.
package otlp
