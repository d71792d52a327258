// Package share holds no code. It is the root of the module in which machines share sessions through NATS
// JetStream, and says what to read first:
//
//	mcprec-share  the program: its commands, and what they print
//	push          from the folder of a machine to the stream
//	pull          from the stream into a folder, where every command of mcprec works
//	stream        the stream itself: how sessions lie in JetStream, and how they are appended and read
//	cluster       a test harness, and the tests with real servers: kills, cut links, power cuts
//
// push and pull reach the stream through an interface each; only mcprec-share joins the three.
//
// docs/shared-store.md is for users.
package share
