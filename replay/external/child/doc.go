// Package child runs a process that is played to: it starts the process with a folder of its own, holds our ends
// of the pipes to it, tells when it is at rest, and ends it with all that it has started.
//
// # What it promises
//
// Our ends never block: what a pipe has no room for goes later, and a process that writes on and on is given up.
// [Process.Settle] returns when the process is at rest, which package procfs reads from the kernel, has said
// something, or is gone. No copy of a pipe is left in another process that starts meanwhile. After [Process.Kill]
// and [InPlace] nothing runs that the process had started, and nothing of its folder is left.
//
// # Data layout
//
// A [Program] is what is started, and a [Place] where: a folder, and the channel that ends it at once. A [Process]
// has [Ends], which are [Pipes], or of a server over HTTP what its caller connects with. A client starts its server
// itself: a listener takes the pipes from the [PassOn] that it starts in the server's place.
//
// # What it refuses to do
//
// It runs on Linux only ([procfs.Supported]). It knows no message of MCP, and no schedule. One goroutine uses a process.
package child
