// Package diff compares two recorded sessions by cause and effect, not line by line.
//
// # Promises
//
// A comparison is pure: no I/O, no clock, no goroutine. A session and itself are the same; a
// difference has the same sections if A and B are swapped. Ids, progress tokens, HTTP streams
// and the transport are not compared. Neither is time: [Report.Timing] describes it and
// decides nothing.
//
// # Data layout
//
// [Digester.Digest] makes a [Digest] of each message: its kind, name and text, and hashes of the
// compared parts in a canonical spelling. It needs only the message, so that several goroutines may
// make digests. [Session.Take] folds the steps of one session, with their digests, into a list of
// messages: which request an answer belongs to, which call a notification.
//
// [New] makes a [Comparison], and [Comparison.Report] pairs the messages of the two lists. Requests
// of one key are paired in order (as in patience diff), and where one session has more requests of
// a key, by their answers (longest common subsequence). Answers follow their requests.
// Notifications of one method are paired by content, within a call first. Then messages of one
// shape are paired (the same but for values that look made up), then messages of one tool, prompt
// or method that differ least among their neighbours. The report lists the places where pairs
// differ.
//
// [Comparison.Aligned] lists the messages of both sessions side by side.
//
// Order is compared between pairs if the protocol or the caller gave it a meaning: a
// notification and the answer of its call, notifications of one kind and call, calls of
// which one was answered before the other was sent. Messages outside a longest increasing
// subsequence moved. Calls that ran at the same time in one session alone, and answers that
// overtook each other, are notes.
//
// # Source files
//
//	digest.go      the digest of one message, and the options of a comparison
//	session.go     the messages of one session, and the calls that they belong to
//	comparison.go  the two sessions, and the steps from their lists to a report
//	pairing.go     which message of A stands for which of B
//	aligned.go     the messages of both, side by side
//	order.go       the differences of order
//	report.go      the other differences, durations, and the report
//
// # What it refuses
//
// A comparison holds both sessions in memory, and at most [KeptBytes] of texts of each: of messages
// behind that it reports that they differ, and not where. It keeps [KeptFindings] findings of each
// section and counts the rest. Standard error is for people: other lines there are a note.
package diff
