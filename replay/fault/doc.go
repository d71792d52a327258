// Package fault decides what goes wrong with the messages of a server that a client talks to:
// which message is delayed, lost, doubled, overtaken or cut.
//
//	rule     = FILTER action { modifier }
//	action   = "delay" DURATION | "drop" | "duplicate" | "reorder" [ DURATION ] | "late-progress" |
//	           "half-message" [ "silent" ] | "disconnect" | "end-stream" | "silent" |
//	           "stderr" SIZE | "status" CODE
//	modifier = N "%" | "once" | "first" N
//
// FILTER is the language of package filter, as in tool:search; without one every message fits.
// The word of an action as a text to look for stands in quotes.
//
// # What it promises
//
// A fault falls on calls: the messages of a call that fit have one fate, and a chance or a
// number of times counts calls. A message that belongs to no call, such as a notification of
// the server's own, has its own fate. Of several rules the first that takes a message decides.
// The same seed takes the same calls: a chance depends on the seed, the rule, the name of the
// call (its method and tool) and how many of that name came before, and not on their order
// among others.
//
//	delay D        the message waits for D, and so do later messages of its call; others pass
//	drop           the message is not sent
//	duplicate      the message is sent twice
//	reorder [D]    the next message of the server goes first; if none comes within D (1s), the
//	               message goes alone
//	late-progress  progress of the call is sent behind its answer
//	half-frame     the first half of the message is sent, and the connection is cut; with
//	               silent it stays open and nothing follows
//	disconnect     the connection is cut in place of the message
//	end-stream     over HTTP: the response ends in place of the message, as if all was said
//	stderr SIZE    so many bytes (100k, 1M) go to standard error in front of the message, once a call
//	silent         the message is not sent, and nothing is sent any more
//	status CODE    over HTTP: the client's request is answered with the status, and goes no further
//
// A cut ends a session on stdio. Over HTTP it ends the response that the message was to go out
// on. A client that resumes the stream gets the message then; otherwise it is lost, with what is
// left of its call.
//
// # Data layout
//
// rule.go reads rules. machine.go has [Machine], which is pure: frames and times in, steps
// out; no I/O and no clock. A shell does the steps, and asks [Machine.Next] when to come back.
//
// # What it refuses
//
// Two faults do not fall on one message, nothing is changed within a message, and nothing
// happens to the messages of the client but for a status.
package fault
