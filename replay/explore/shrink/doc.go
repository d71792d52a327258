// Package shrink finds the smallest session with the same bug.
//
// # Promises
//
// Same bug: a candidate counts only with the fingerprint of the given session (verdict,
// category, shape of the wait cycle), so the search cannot slip to another bug.
//
// Legal by construction: parts are dropped and kept whole. Every response keeps its request
// and every request its response, a notification its request or subscription, a page its
// cursor, and a nested request its outer call. The handshake stays.
//
// Deterministic: no clock, no randomness, no goroutine; the same session, Try and options
// give the same result.
//
// # Data layout
//
// A session is taken apart once, into a cut: its frames and parts. A part has needs; a need
// names parts of which at least one must be kept. Parts inside one another are a group. A
// choice says which parts are kept, which groups stand alone, and the capacity; build makes
// events from a choice.
//
// The passes start from the best candidate and repeat until no pass finds a smaller
// candidate: take the room away; keep only the frames of the failure; drop frames that were
// never sent; drop groups, then parts, big pieces first; swap two kept parts for a dropped
// group; let groups stand in turn. Smaller means fewer frames, then less room, less overlap,
// fewer bytes.
//
// # What it refuses
//
// It invents no frame and changes none.
package shrink
