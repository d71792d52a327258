// Package diff compares two recorded sessions by what caused what, not line by line.
//
// # Promises
//
// A comparison is pure: no I/O, no clock, no goroutine. A session and itself are the
// same; what B has and A has not is what A lacks when B is compared with A. Ids, progress
// tokens, HTTP streams and the transport are not compared, nor how long anything took:
// [Report.Timing] tells of it and decides nothing.
//
// # Data layout
//
// [Digester.Digest] makes of each message a [Digest]: what it is, and hashes of what is
// compared of it. It needs nothing but the event, so a caller may have many at work.
// [Session.Apply] folds the digests of one session, in order, into a list with one record
// a message, about a hundred bytes, and no payload: which request an answer belongs to,
// which call a notification.
//
// [New] pairs the messages of the two lists. Requests of one key stand for each other
// in their order, and where one session has more of a key those are paired whose answers
// are the same. Answers follow their requests. Notifications of one method are paired by
// content, those of one call first. What is left needs its text: [Comparison.Wants]
// names the events, [Comparison.Take] is given them, and [Comparison.Report] pairs what
// has one shape (the same but for values that look made up), then of one tool, prompt or
// method what differs least among its neighbours, and says where what is paired differs.
//
// Order is compared between pairs, where the protocol or the caller gave it a meaning: a
// notification and the answer of its call, notifications of one kind and call, calls of
// which one was answered before the other was asked. Calls that ran at the same time in
// one session and not in the other, or whose answers overtook each other, are a note.
//
// # What it refuses
//
// It holds at most [KeptBytes] of texts of each session. Of what differs beyond that it
// says that it does, and not where. Of each kind of finding it keeps [KeptFindings] and
// counts the rest. Standard error is for people: it is compared for a note.
package diff
