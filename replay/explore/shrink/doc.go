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
// A session is taken apart once, into a cut: its frames, and the parts they
// belong to. A part is what is kept or dropped as one. It lists its needs; of each
// need one of some parts must be kept. Parts that happen inside one another are a
// group. A choice says which parts are kept, which groups stand alone, which
// members of payloads are gone, and at what capacity; build makes events of it.
//
// The passes, each from the best that is known, until nothing changes: take the
// room away; keep only what the failure is said to be about; drop what was never
// said; drop groups, then parts, big pieces first; swap a dropped group for two
// kept ones; let groups stand one after another; take out what no schema wants.
// Smaller is: fewer frames, then less room, less overlap, fewer bytes.
//
// # What it refuses
//
// It does not write frames that nobody sent, but for members taken out of their
// params and results, and lists made empty. Batches stay as they are.
package shrink
