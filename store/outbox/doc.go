// Package outbox records sessions in a store of this machine and ships them to a shared store in the
// background.
//
// # What it promises
//
// A session is recorded exactly as without a shared store: [Outbox] starts a spool of the local store,
// and a write to it counts bytes and goes to that spool. Nothing of the network is on its way, and a
// session does not wait for a connection. Reads and listings come from the local store.
//
// Each session has a shipment, which claims it in the shared store, follows the local log, masks its
// events and appends them in batches. A batch leaves 100 ms after its first event was recorded, but not before
// it has waited 50 ms for more, or when it has 256 events or 512 KiB. After an error the same batch goes again, with pauses from 100 ms to 10 s; the shared store
// takes equal events once. What a call has done that did not return is therefore of no concern.
//
// Close gives the shipments a short time for the rest. What is left then, or after a crash, is shipped
// by the [Outbox.Flush] of any later process. A spool goes when its recorder is dead, the shared store
// has acknowledged the whole session, the hold-back has passed since, and the shared store still
// shows the same end. If the end is a shorter one, or the session is gone, the events behind it are
// appended again: a server that acknowledges before it syncs may lose some in a power cut.
//
// The hold-back is measured by the uptime of the machine where the system tells it (Linux), and the
// clock does not count. Elsewhere it is measured by the clock: one that is set back begins the
// hold-back anew, and one that jumps ahead can end it early; the end in the shared store is compared
// in any case.
//
// # Faults
//
//	the shared store does not answer   the spool grows, and the same batch is tried again
//	a call's outcome is unknown        the same events again, after a pause
//	its log is shorter than it was     its events are appended again from there
//	another recording has the same id  shipping stops for good, Trouble says so, the spool stays
//	another has claimed the session    shipping stops in this process; a later Flush tries again
//	the session was deleted there      before it was complete: shipping stops for good, the spool
//	                                   stays; after: the spool goes as well
//	an event is too large for it       the event is shipped with the first 256 KiB of its payload, as
//	                                   with a limit on frames (Event.Cut), under its number and in its
//	                                   place; Trouble says so, and the spool, which has it whole,
//	                                   stays until it is deleted
//	too much waits                     Write refuses, as if the disk were full, until an eighth of the
//	                                   limit is free; the log's own last events are still written
//	the disk has lost the newest       if the shared store has more, and the last event here is equal,
//	events in a power cut              the session counts as complete; if that event was cut off, it is
//	                                   taken for another recording's
//	the local spool cannot be read     shipping stops in this process
//	no mask can be made                shipping stops in this process: nothing leaves unmasked
//
// # Data layout
//
// A shipment holds one batch and at most two events behind it. How far a session has come is in the
// file <id>.shipped beside its spool, as JSON (type state). It is written at most every 5 s, and at the
// end; the shared store's own log says where to go on.
//
// A shipment always reads the local log from its first event: the mask depends on the events before,
// and the chain of hashes tells whether the shared log is a beginning of this one. If the rules of the
// mask have changed since, the chain in the state file does.
//
// # Source files
//
//	outbox.go                        the Outbox: options, sessions, limits, closing, Stats
//	shipment.go                      the way of one session
//	reading.go                       the masked events of a local log
//	flush.go                         what dead recorders left
//	decide.go                        when to send, what to do after an error, when a spool may go
//	state.go                         what is known of a session between two processes
//	uptime_linux.go, uptime_other.go the uptime of the machine
//
// # What it refuses to do
//
// It knows no network and no format of a shared store. It drops no event, ships none unmasked when it
// has a mask, and deletes nothing in the shared store.
package outbox
