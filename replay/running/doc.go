// Package running finds the MCP servers that run on this machine, recorded or not, and tells from the processes alone
// how each session stands.
//
// # What it promises
//
// No byte is disturbed: the unread bytes of a pipe are copied and stay there, and no process is traced or stopped.
// A process is a server if a client's configuration names its command, if it is recorded, if the unread bytes in its
// pipes are lines of JSON-RPC, or if the file of its program has words that only a server of the protocol uses. Its
// name is no reason. A process may end during the look.
//
// # Data layout
//
// A [Table] has the processes, and who holds which end of which pipe. The processes with one input are one
// [Instance]: the server is the innermost of them that writes to the same output as the first, because a launcher
// such as npx has the server as a child and passes its pipes on. Its client is the process outside that holds both
// other ends. An Instance whose client has gone is an orphan.
//
//	table.go    the processes and the ends of their pipes
//	find.go     the servers among them
//	program.go  whether a program is a server of the protocol, by its file
//	sight.go    one look at an Instance: what lies unread, and who sleeps in what
//	judge.go    what two looks prove
//	memory.go   the messages that a server still has in its memory
//
// # What it refuses to do
//
// It looks at servers on stdio, on Linux; a server over HTTP has no pipe. It ends no process. It does not look at a
// process of another user, and tells of a message only what its caller masks.
package running
