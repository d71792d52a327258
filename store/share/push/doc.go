// Package push ships the sessions of a folder to a team's stream, while they are recorded and afterwards.
//
// # What it promises
//
// Recording knows nothing of it: a push follows spools and databases, as any reader may. Each session has a
// shipment, which reads its log, masks its events and appends them in batches. A batch leaves 100 ms after its
// first event was read, or when it has 256 events or 512 KiB. After an error the same batch goes again, with
// pauses from 100 ms to 10 s; the stream takes equal events once. So it does not matter whether an interrupted
// call succeeded, or whether a push died: the next one finds the log's end in the stream.
//
// A session is done when its recorder has ended, the stream has acknowledged all of it, the hold-back has
// passed since, and the stream still shows the same end. If the end is a shorter one, or the session is gone,
// the events behind it are appended again: a server that acknowledges before it syncs may lose some in a power
// cut. Where the machine's own power cut has taken back what the stream has already, the session is complete if
// the last event here is equal; if that event was cut off, it is taken for another recording's.
//
// The hold-back is measured by the uptime of the machine where the system tells it (Linux), and the clock does
// not count. Elsewhere it is measured by the clock: one that is set back begins the hold-back anew, and one that
// jumps ahead can end it early; the end in the stream is compared in any case.
//
// # Faults
//
//	the stream does not answer         the same batch is tried again; the folder has all of it
//	a call's outcome is unknown        the same events again, after a pause
//	its log is shorter than it was     its events are appended again from there
//	another recording has the same id  shipping stops for good, and Trouble says so
//	an event is too large for it       the event is shipped with the first 256 KiB of its payload, as with a
//	                                   limit on frames (Event.Cut), under its number and in its place, and
//	                                   Trouble says so
//	the local log cannot be read       the session is tried again later
//	no mask can be made                the same: nothing leaves unmasked
//
// # Data layout
//
// A shipment holds one batch and at most one event behind it. How far a session has come is in the file
// <id>.json of the push's own folder (type state), written at most every 5 s, and at the end. A lock file there
// keeps a second push of the same folder to the same stream away.
//
// A shipment always reads the local log from its first event: the mask depends on the events before, and the
// chain of hashes tells whether the stream's log is a beginning of this one. If the rules of the mask have
// changed since, the chain in the state file does.
//
// # Source files
//
//	push.go                          the Push: which sessions are shipped when
//	shipment.go                      the way of one session
//	reading.go                       the masked events of a local log
//	decide.go                        when to send, what to do after an error, when a session is done
//	state.go                         what is known of a session between two processes
//	uptime_linux.go, uptime_other.go the uptime of the machine
//
// # What it refuses to do
//
// It knows no network. It drops no event, ships none unmasked when it has a mask, and changes nothing in the
// folder but its own files there.
package push
