// Package gosdk has examples for who uses the official Go SDK, each a test to copy
// into a module that requires mcprec and the SDK:
//
//	record_test.go        record a session, play it from then on
//	client_test.go        a client against a recorded server
//	server_test.go        a server against a recorded client: its behaviour is pinned
//	recordedhttp_test.go  the same two over Streamable HTTP
//	pair_test.go          both ends live in one process, over a transport that holds nothing
//
// The folder is such a module: its go.mod has mcprec and the newest release of the SDK,
// and the adapter's own tests run here with it too (`make test`).
package gosdk
