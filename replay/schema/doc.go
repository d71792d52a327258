// Package schema finds the places where a message does not fit the official JSON schema of its
// revision of the Model Context Protocol.
//
// # Promises
//
// A [Validator] is pure but for reading the schemas, which are part of the program; one
// goroutine at a time may use it. A schema is read when the first message needs it, once in a process. A
// [Fault] names the place, as a JSON pointer from the message's root, and what is wanted
// there. If a value fits no form of several, the faults are given for the most similar form.
//
// The published schemas are wrong in places. A fault that comes only from such a place has a
// Reason, and is no fault of the peer.
//
// [Envelope] needs no schema: it looks at the members that every reader of JSON-RPC parses first.
//
// # Data layout
//
// The folder mcp has the published schemas, one for each revision, compressed and otherwise
// unchanged, and their licence. The folder extensions has the forms of the official extensions, such as the
// tasks of 2026-07-28, written after their specifications; they use definitions of their revision. Every message is checked against the definition of the kind of
// JSON-RPC message; a request and a notification also against the definition with the method,
// a result against the result of the request.
//
// # What it refuses
//
// A message of a revision without a schema here is not checked. A method that the schema does
// not know is checked as JSON-RPC alone: extensions are allowed.
package schema
