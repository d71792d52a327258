// Package comparing compares two sessions as mcprec diff does, and tells the differences.
//
// # What it promises
//
// [Compare] reads two sessions with package diff: once whole, and once more what differs. A
// [Comparison] says the result as text, as JSON, and as JUnit test cases, all of the same findings.
//
// # Data layout
//
// compare.go reads the sessions, text.go has the text, form.go the JSON and the test cases.
//
// # What it refuses
//
// It decides nothing: package diff finds the differences. It masks nothing, because the sessions
// that it reads are masked.
package comparing
