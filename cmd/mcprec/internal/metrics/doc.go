// Package metrics tells a Prometheus server how the recorders of this process stand.
//
// # What it promises
//
// [Server] answers GET /metrics on a loopback address with the text of [Snapshot.Text], which is a
// pure function. Nothing of it stands between a client and its server: the numbers come from a
// reader of the recorded events ([Session.Apply]), which goes on beside the session, and from
// counters that the recorder has in any case. No name of a tool, no id and no text of a peer is in
// the metrics, only numbers, and the label that the user gave.
//
// # Data layout
//
// text.go has the [Snapshot] and its text, in the exposition format of Prometheus, version 0.0.4.
// collector.go keeps the live sessions, and adds what they counted to the sums when they end.
// server.go is the HTTP server.
//
// # What it refuses
//
// It does not listen on an address that other machines reach: the numbers tell who works when. It
// keeps no history, and makes no series for each session.
package metrics
