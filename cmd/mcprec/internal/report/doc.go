// Package report makes what the commands say about a session, once: for text, JSON, the page and the MCP
// tools.
//
// # What it promises
//
// [HangsIn] says what hangs in a session, as mcprec why; [Judge] what a closed replay says of it, after
// what hung in the recording itself. [Compare] reads two sessions for mcprec diff, and a [Comparison]
// tells the differences. [Check] reads a session for mcprec check. An [EntryPrinter] prints the events
// of a session as mcprec show does, and [ListSession] says of one what mcprec list does. The form for
// --format json stands here alone, and is stable.
//
// # Data layout
//
// A file has what one command says: why.go (and live.go), replay.go, diff.go, check.go, show.go, list.go.
// match_flags.go names the flags under which different messages would match.
//
// # What it refuses
//
// It decides nothing: the packages below replay judge. It reads sessions and the state of processes,
// and changes neither. What it says of a [session.Session] has passed the session's masker.
package report
