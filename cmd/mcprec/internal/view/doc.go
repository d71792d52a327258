// Package view serves the page of mcprec view, and writes it as one file.
//
// # What it promises
//
// A [Server] answers one browser on this machine: the first that opens the address of [Server.URL].
// That address works once; its key is spent, and a cookie that no script reads takes its place. No other
// port of the machine gets the cookie, and no argument of a process has the address ([Browse]). The
// server refuses a request of another site, and one for another host name. What a peer sent leaves
// the package masked, in JSON, and the policy of the page lets it neither run nor load anything.
//
// The page has its first rows before the session is indexed. One goroutine for each session folds
// its events, parses each event once, and follows a live session; [Server.Close] ends the goroutine
// and waits for it.
//
// # Layout
//
//	guard.go            which requests are answered
//	browse.go           how the desktop's browser is led to the page
//	server.go           the server: what it shows, where it listens
//	routes.go           the paths, and which function answers each
//	sessions.go         the sessions that are open, also those that are chosen from a list
//	source.go           a session that can be read from any event
//	index.go            what the fold over a session leaves
//	rows.go             rows at any place of a session, also before the index has come there
//	answers.go          answers about a session: its head, overview, state, frames, findings, search, why
//	live.go             the stream that tells how a session grows
//	run.go              closed replays, and the models and capacities on offer
//	explore.go          explorations, and their schedules as they are drawn
//	compare.go          two sessions side by side
//	diagram.go          a range of events as text or mermaid, to be copied
//	export.go           the page as one file
//	replays_in_file.go  the replays that the file has with it
//
// page has the sources of the page, and dist the page that bundle makes of them; browser tests it
// in a real browser.
//
// # What it refuses
//
// It listens on the loopback interface only. It changes no session, and takes no upload.
package view
