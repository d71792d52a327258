// Package child runs the process to which a session is played. It starts the process in a folder made for it, holds
// our ends of the pipes, tells when the process is at rest, and ends it with every process that it started.
//
// # What it promises
//
// Our ends never block: bytes for which a pipe has no room are written later, and a process that never stops
// writing is given up. [Process.Settle] returns when the process is at rest, has written something, or is gone;
// package procfs reads from the kernel whether it is at rest. Other processes that start meanwhile inherit no pipe.
// After [Process.Kill] and [InPlace] all processes that the child started have ended, and its folder is removed.
//
// # Data layout
//
// A [Program] says what to start, and a [Place] where: a folder, and a channel whose close ends the process at once.
// A [Process] has [Ends]: [Pipes], or the connections over HTTP of the caller. A client starts its server itself: it
// starts [PassOn] in the server's place, and a listener takes the pipes from there, and the [ErrorOutput]. A client over
// HTTP connects with an [HTTPListener], which gives out its requests, each an [HTTPExchange], and takes the responses.
//
// # What it refuses to do
//
// It runs on Linux only ([procfs.Supported]). It knows no message of MCP, and no schedule. It speaks HTTP/1.1, one
// request a connection. One goroutine uses a process.
package child
