// Package schema finds the places where a message does not fit the official JSON schema of
// its revision of the Model Context Protocol.
//
// # Promises
//
// A [Validator] is pure but for reading the schemas, which are part of the program; one
// goroutine at a time may use it. It reads a schema when the first message needs the schema. A
// [Fault] names the place, as a JSON pointer from the message's root, and what is wanted there.
// If a value fits none of several forms, the faults are those of the form that the value
// resembles most.
//
// The published schemas are wrong in places. A fault that comes only from such a place has a
// Reason, so that it is not taken for a fault of a peer.
//
// # Data layout
//
// The folder mcp has the published schemas, one for each revision, compressed and otherwise
// unchanged, and their licence. Every message is checked against the definition of its kind of
// JSON-RPC message; a request and a notification also against the definition with their method,
// a result against the result of its request.
//
// # What it refuses
//
// A message of a revision without a schema here is not checked. A method that the schema does
// not know is checked as JSON-RPC alone: extensions are allowed.
package schema
