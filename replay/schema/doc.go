// Package schema says where a message does not fit the official JSON schema of its
// revision of the Model Context Protocol.
//
// # Promises
//
// A [Validator] is pure but for reading the schemas, which are part of the program; one
// goroutine at a time may use it. It reads a schema when the first message needs it. A [Fault] says the place, as a JSON pointer
// from the message's root, and what was wanted there. Of a value that fits none of
// several forms it tells of the form that it seems to be.
//
// The published schemas are wrong in places. What fails only there is told all the same,
// with a Reason, so that nobody takes it for a fault of a peer.
//
// # Data layout
//
// mcp has the schemas, one a revision, unchanged but for being compressed, and their
// licence. A request and a notification are held to the definition that has their
// method, a result to that of its request's; all are held to that of their kind of
// JSON-RPC message.
//
// # What it refuses
//
// A revision of which it has no schema is judged by none. A method that the schema does
// not know is only held to JSON-RPC: extensions are allowed.
package schema
