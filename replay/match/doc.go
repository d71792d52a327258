// Package match says whether a live message is the same as a recorded one, and where the
// two differ.
//
// # Data layout
//
// A JSON value is read into a tree that keeps the value and the bytes where it stands. So
// 100 and 1e2 are the same number, no two texts become one by being read, and a value can
// be put into a frame without a change to any other byte.
//
// [Rules] compare two messages by walking their trees side by side. A place where the
// trees differ is a [Difference], unless the rules have a reason to take it as equal. Then
// it is a [Mapping]: a variable, which the live end made up where the recorded end made up
// its own; a place that the rules ignore; two texts that a [Normalizer] makes equal; or a
// masked secret. A [Comparison] holds both lists for two messages, and a [StepVerdict] for
// one step of a session. [Variables] learns what a live end makes up, and puts it into
// what is sent to that end. A [Comparer] compares two recordings, where each end has made
// up its own values.
//
// # Files
//
//	rules.go                    the rules of a comparison, and the key of a request
//	tree.go                     a JSON value with the place where it stands
//	difference.go               differences, mappings, and the result for a step
//	normalize.go                the normalizers
//	variable.go, substitute.go  what a live end makes up, learned and put into frames
//
// # What it refuses
//
// It does no I/O, asks no clock and starts no goroutine. It takes nothing as equal without
// a Mapping that shows it, except ids, progress tokens and the identity of the client. It
// does not pair messages: its callers decide which live message stands for which recorded
// one.
package match
