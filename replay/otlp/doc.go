// Package otlp writes a session as traces of OpenTelemetry.
//
// # What it promises
//
// Names and attributes are those of OpenTelemetry's semantic conventions for MCP (of the
// state of Development, October 2026). A session always gives the same bytes: ids follow
// from the session's id and the order of its calls. Nothing of arguments, results or
// content is in it, but for what a server logs and says of its progress, and the messages
// of errors. Memory is bounded: spans go out as they end, in batches.
//
// # Data layout
//
// A session is a trace with one span around it. Each call is a span of kind client below
// that, whichever end called, from its request to its response:
//
//	name        METHOD, and the tool or prompt
//	status      error for an error and for a tool's isError, with its message
//	attributes  mcp.method.name, mcp.session.id, mcp.protocol.version, gen_ai.tool.name, …;
//	            mcprec.request and mcprec.response are the events
//	events      its progress, its cancellation; "no answer" at the session's end
//
// A call whose request has a traceparent (in params._meta, else in the HTTP header) is of
// that trace, below that span, with a link to the session's. A call that a server makes on
// the HTTP stream of a call stands below it. Other notifications, among them what a server
// logs, and lost events are events of the session's span; one keeps 1000 of them and counts
// the rest. Noise, standard error and other events of a recording have no place in it.
//
// The JSON form has a batch a line, as the collector's file exporter; a session of less
// than 8192 calls is one line.
package otlp
