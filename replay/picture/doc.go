// Package picture turns a session into the parts of a drawing: a row for each event, the
// rails of its calls, and an overview of all of it. Package sequence draws the same for a
// terminal; labels and columns come from there.
//
// # Promises
//
// An [Index] is a projection that grows with a session. Its parts are there for any range of
// events, without another fold: [Index.Range] gives the rows of a few hundred events in the
// middle of a million, the same rows that a fold from the first event makes. Each text in a
// row is short, on one line, and shows hidden characters by number.
//
// A [Run] is a closed replay of a session as it is drawn, step by step.
//
// # Data layout
//
// An Index keeps no payload, only:
//
//	of an event   1 byte: direction, frame, fault, finding, and how its message belongs to a call
//	              2 bytes: the pause before the event, to 0.4 %, and of each 32 events the time, 8 bytes
//	              4 bytes: the number of its call
//	of a call     12 bytes: request, end, column, outcome; and in a tree about 0.3 bytes, the
//	              greatest end of each 16 calls, of each 256, …, to find the calls over a range
//	              24 bytes: how it ends, for the filters that ask that
//	of a batch    8 bytes for each message that belongs to a call
//
// A row needs the event, and for a message about a call the request's event: [Range.Wants]
// names the requests before the range.
//
// [States] keeps at most 128 states of a session, at equal distances, so that the state at
// any event is at most a 64th of the session away.
//
// [Compare] aligns two sessions from a report of package diff.
//
// # Why an Index
//
// Rows could come from a fold that begins at the nearest of [States], without an Index. Such a window does
// not know how its calls end, nor which calls pass it, so the calls and their tree would stay, as would
// the overview and the waterfall: [Range] alone would go, 150 lines. In a session of a million events that
// fold takes 23 ms of CPU, as a state does, before it has made a row; 256 rows from the Index take 16 ms in
// all. The Index takes 4 % of the CPU of the fold that fills it.
//
// # What it refuses
//
// The package does no I/O, reads no clock and starts no goroutine. An Index takes each event of
// a session, from Seq 1 without gaps, and at most 4,294,967,295. It judges nothing: the caller
// marks the events of findings. A call beyond the 64 in flight of one end shares the last
// column.
package picture
