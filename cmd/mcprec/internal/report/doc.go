// Package report makes what the commands say about a session, once: for text, JSON, the page and the MCP
// tools.
//
// # What it promises
//
// [HangsIn] says what hangs in a session, as mcprec why does. [Judge] gives the verdict of a closed replay,
// behind what hung in the recording itself. [Compare] reads two sessions for mcprec diff, and a [Comparison]
// has the differences. [Check] reads a session for mcprec check. An [EntryPrinter] prints the events of a
// session as mcprec show does, and [ListSession] a session as mcprec list does. The form for --format json
// stands here alone, and is stable.
//
// # Data layout
//
// A file has what one command says: why.go (and live.go), replay.go, diff.go, check.go, show.go, list.go.
// match_flags.go names the flags under which different messages would match, and search.go prints the findings
// and the progress of a search.
//
// # What it refuses
//
// It decides nothing: the packages below replay judge. It reads sessions and the state of processes,
// and changes neither. What it says of a [session.Session] has passed the session's masker.
package report
