// Package external plays one half of a recorded session to a real process, in any language, in many
// orders: the client's half to a server, or the server's half to a client. It says in which of them the
// process hangs, dies, lingers, answers otherwise than any order of the calls explains, prints otherwise, or breaks a
// rule of the protocol (a MUST of package check, whatever the process had read when it wrote).
//
// # What it promises
//
// Nothing in the process is changed. The order in which the recorded end's frames go out, which of them
// share a write, where a write is split, when that end reads, answers, cancels and ends: these are the
// choices. Package child starts the process, and after each write it is left alone until it is at rest. So what
// runs side by side in the process is what one write brought, and a schedule can be played again by its [Token].
//
// A hang that was found, and what is illegal, is played once more, to a process which package sourceline asks for lines
// of its source. No finding comes of that play.
//
// Every finding was seen in several fresh processes, with the same token each time. A finding is called a
// hang only if nothing but mcprec could have moved the process. One with a timer, or one that waits
// for something outside, is a suspect, and the finding names the timer or the descriptor.
//
// A server on standard input and output must end when its input has closed. MCP (basic/lifecycle, Shutdown) has the client
// close it, wait, send SIGTERM, and then kill. These are the ends that are played, and what each expects:
//
//	end, endrest  the input closes: the server ends, with status 0; endrest: and has answered before
//	term          SIGTERM, with a call in hand, and then the input closes: the server ends
//	gone          the output closes, a message comes that may want an answer, and then the input closes: the server ends
//
// Behind SIGTERM and a closed output it owes no answer and no status, and it may go on as long as its input is open: in
// the first case a note says so. A server that goes on at the end of its input alone is told for that, with what SIGTERM does.
//
// A server may speak Streamable HTTP ([Server.URL]). Each frame is then a request with a TCP connection of its
// own, and mcprec is the only client: what waits in these connections, or is on its way, counts as much as
// what the threads do. The server is at rest if nothing is.
//
// A client over HTTP is given a URL ([Client.OverHTTP]), at which package webserver is the recorded server. What a client
// may choose by the specification is no finding: see the table in docs/explore.md.
//
// Another client starts its server itself. It is given the path of a program that passes its standard input and
// output to this process ([child.PassOn]), and its pipes are then those between the two.
//
// # Data layout
//
// A [Schedule] is a short list of choices ([Choice]), each at a frame of the recorded end, which has the
// number of its recorded event. Without choices that end is plain. A plain client sends a frame, waits for
// the answer and for rest, and sends the next; where the server does nothing more, and the recorded client had sent the next one
// without the answer, so does this one. A plain server sends each frame by itself, in its recorded
// place. A play has a server's answers by the event number of their request, and a client's output.
//
// # Source files
//
//	choice.go     choices, tokens, and which are tried
//	peer.go       what a search needs of an end under test: one play, its choices, the session of one play
//	server.go, to_server.go      a server under test, what a client goes on without, and one play of the client's half to it
//	to_server_rest.go            what the client does in such a play when the server is at rest, and at its end
//	client.go, to_client.go      a client under test, what is a fault of it, and one play of the server's half to it
//	to_client_http.go            what such a play has over HTTP beside
//	guest.go      another client of a server over HTTP, which asks or leaves beside the recorded one
//	web_linux.go, web_other.go   the connections to a server over HTTP, whose responses package incoming reads
//	serial.go     whether an order of the calls explains the answers
//	explore.go    the search
//	confirm.go    its confirmation in fresh processes, and what a client prints otherwise than in the recorded order
//	report.go     what is said
//	shown.go      a play as it went, and as a session
//	script.go, script.sh  a play as a shell script, for those without mcprec
//	make.go       a session that is made, by a client that was not recorded, and the experiments of package probe
//
// # What it refuses to do
//
// It proves nothing: what a process does between two system calls is its own. It runs on Linux only. Over HTTP
// it plays without TLS and authorization, and not HTTP+SSE of 2024-11-05. It takes no command from a recording.
//
// No process plays several schedules in a row. The handshake, the end, and bursts, whose answers are compared,
// need a fresh process, and these are half of the schedules; a process that has hung is of no use to the next.
// Tried with servers on Node, it saved a quarter to a third of the processor time, and nothing where there was
// a bug to find.
package external
