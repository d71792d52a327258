// Package standin plays one half of a recorded session to a live end: the server's half to a
// live client, or the client's half to a live server.
//
// # Data layout
//
// [Player] plays the server's half and [Driver] the client's. Both are pure machines: frames
// in, frames out; no I/O, no clock, no goroutine. Each holds the recorded messages of the live
// end and waits for them, and sends the recorded frames of the own end, each when everything
// before the frame has happened. Either may be allowed to reorder: to send in any order
// allowed by the specification.
//
// [Serve] and [Drive] are the shells: they play a Player or a Driver over a connection, with a
// reader, a writer and a [Pacer]. A [Live] server may stand behind a Player and answer
// unrecorded requests; [Extend] puts the answers into the session.
//
// Over HTTP a frame has the number of its exchange. The number pairs an answer with the
// request where two clients use the same id. An [Endpoint] gives each session of a client a
// Player, [Dial] makes the client of a Driver. Both tell the transport the recorded facts
// around the frames: status, form, ids of events, cuts. Requests on two connections have no
// order: where only the beginning of a response, or some time, kept a recorded request ahead
// of what the client did next, the client of a Driver waits for that again.
//
// The result is a list of [match.StepVerdict]: how the live end's messages compare with the
// recorded messages.
//
// # Files
//
//	player.go                            the machine that plays the server
//	player_match.go                      which recorded request a live request stands for
//	player_order.go                      which recorded frames of the server may go out now
//	driver.go                            the machine that plays the client
//	driver_order.go                      which recorded frames of the client may go out now
//	half.go, load.go                     a recording as one half of it is played, and how that is read
//	serve.go, drive.go                   the shells: a machine over a connection
//	faulty.go                            faults carried out between a Player and a connection
//	http.go, exchange.go, rejections.go  the same over HTTP: sessions, exchanges, refused requests
//	live.go                              a live server behind a Player
//	unrecorded.go, refused.go            what only the live client asks for; exchanges that HTTP refused
//	versions.go                          what a server had of its lists and resources at each time
//	extend.go                            answers of a live server put into the session
//
// # What it refuses
//
// A Player and a Driver are not safe for concurrent use. The only invented answers are to a
// ping and to server/discover: an unrecorded request gets an error with the name of the
// nearest recorded request.
package standin
