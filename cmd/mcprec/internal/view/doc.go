// Package view serves the page of mcprec view, and writes it as one file.
//
// # What it promises
//
// A [Server] answers one browser on this machine. Whoever asks must know the key of the address
// that [Server.URL] returns; the page keeps it in a cookie that no script reads. A request of
// another site, or one for another host name, is refused. What a peer sent leaves the package
// masked, in JSON, and the page's policy lets it neither run nor load anything.
//
// The page has its first rows before the session is indexed. One goroutine a session folds the
// events, each parsed once, and follows a live session; [Server.Close] ends it and waits for it.
//
// # Layout
//
// guard.go decides who may ask. server.go has the routes, source.go a session that can be read
// from any event, index.go what a fold over it leaves. The answers stand in answers.go (the
// session, rows, overview, state, frames, findings), live.go (what comes later), run.go (replays),
// explore.go, compare.go and diagram.go (rows to copy). export.go writes the static file, carried.go
// the replays in it. page has the sources of the page,
// and dist the page that bundle makes of them; browser tests it in a real browser.
//
// # What it refuses
//
// It listens on the loopback interface only. It changes no session, and takes no upload.
package view
