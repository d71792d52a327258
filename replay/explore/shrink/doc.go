// Package shrink finds the smallest session that still has the same bug.
//
// # Promises
//
// Same bug: a candidate counts only with the fingerprint of the session that was
// given (verdict, category, shape of the wait cycle), so the search cannot slip
// to another bug.
//
// Legal by construction: what is dropped and kept are causal groups, never single
// frames that others need. No response is left without its request, no request
// loses the response it had, no notification the request or subscription it is
// about, no page its cursor, no nested request the call it was made for, and the
// handshake goes last or, in a session, not at all.
//
// Deterministic: no clock, no randomness, no goroutine; the same session, the same
// Try and the same options give the same result.
//
// # Data layout
//
// A session is taken apart once, into a cut: its frames, and the parts they belong to. A
// part is kept or dropped as a whole. Of each of its needs one part must be kept. Parts
// that happen inside one another are a group. A choice says which parts are kept, which
// groups stand alone, which members of payloads are gone, and the capacity; build makes
// events from a choice.
//
// The passes start from the best candidate and repeat until nothing changes: take the room
// away; keep only the frames that the failure is about; drop frames that were never sent;
// drop groups, then parts, big pieces first; swap two kept parts for a dropped group; let
// groups stand one after another; take out members that no schema wants. Smaller means
// fewer frames, then less room, less overlap, fewer bytes.
//
// # What it refuses
//
// It writes no frame that nobody sent, apart from members taken out of params and results,
// and lists made empty. Batches stay as they are.
package shrink
