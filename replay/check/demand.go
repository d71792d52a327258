package check

import "github.com/mcprec/mcprec/replay/order"

const (
	pageHTTP     = "basic/transports/streamable-http"
	pageRetry    = "basic/patterns/mrtr"
	resumability = "basic/transports, Resumability and Redelivery"

	first   = order.Revision2024_11_05
	streams = order.Revision2025_03_26 // the first with Streamable HTTP
	shook   = order.Revision2025_11_25 // the last with a handshake, and with streams that are resumed
	last    = order.Revision2026_07_28
)

// The rules of the steps that a frame takes, which hold in every revision: a recording
// that breaks them did not happen.
var (
	takenUnsent = order.Demand{Rule: "U1", Title: "a frame is taken after it was written", Severity: order.Error}
	takenBack   = order.Demand{Rule: "U2", Title: "frames are taken in the order in which they were written", Severity: order.Error}
	answersRaw  = order.Demand{Rule: "U3", Title: "an HTTP exchange is answered after its request", Severity: order.Error}
	afterBody   = order.Demand{Rule: "U3", Title: "a body ends with its exchange", Severity: order.Error}
	overfull    = order.Demand{Rule: "U4", Title: "no more frames of one thread are on their way than there is room", Severity: order.Warning}
)

// The rules of streams that are taken up again, and of requests that are sent again.
var (
	eventTwice    = order.Demand{Rule: "P11", Title: "an event has an id of its own", Severity: order.Error, First: streams, Last: shook, Section: resumability}
	eventAgain    = order.Demand{Rule: "P11", Title: "redelivery keeps the stream's order, and gives nothing twice", Severity: order.Error, First: streams, Last: shook, Section: resumability}
	eventOfOther  = order.Demand{Rule: "P11", Title: "no event of another stream is redelivered", Severity: order.Error, First: streams, Last: shook, Section: resumability}
	eventUnknown  = order.Demand{Rule: "P11", Title: "a stream is taken up behind an event that was received", Severity: order.Warning, First: streams, Last: shook, Section: resumability}
	answerOnGet   = order.Demand{Rule: "P11", Title: "a response comes on its request's stream, or where that is taken up again", Severity: order.Error, First: streams, Last: shook, Section: "basic/transports, Listening for Messages from the Server"}
	resumedModern = order.Demand{Rule: "P11", Title: "a lost stream is not taken up again", Severity: order.Warning, First: last, Last: last, Section: pageHTTP + ", Receiving Messages"}

	stateKept    = order.Demand{Rule: "P12", Title: "a retry echoes the requestState", Severity: order.Error, First: last, Last: last, Section: pageRetry + ", Client Requirements"}
	stateUnasked = order.Demand{Rule: "P12", Title: "a requestState is sent only where one was given", Severity: order.Error, First: last, Last: last, Section: pageRetry + ", Client Requirements"}
	inputMethod  = order.Demand{Rule: "P12", Title: "input is asked for only by prompts/get, resources/read and tools/call", Severity: order.Error, First: last, Last: last, Section: pageRetry + ", Supported Requests"}
	inputNone    = order.Demand{Rule: "P12", Title: "an InputRequiredResult has inputRequests or a requestState", Severity: order.Error, First: last, Last: last, Section: pageRetry + ", Server Requirements"}
	inputKind    = order.Demand{Rule: "P12", Title: "what is asked for is elicitation, sampling or roots", Severity: order.Error, First: last, Last: last, Section: pageRetry + ", Server Requirements"}
	inputUnable  = order.Demand{Rule: "P12", Title: "only what the client declared is asked for", Severity: order.Error, First: last, Last: last, Section: pageRetry + ", Server Requirements"}
)

// The rules of what each message says of itself.
var (
	notJSONRPC = order.Demand{Rule: "P13", Title: "a message says that it is JSON-RPC 2.0", Severity: order.Error, Section: "basic, Messages"}
	unnamed    = order.Demand{Rule: "P14", Title: "a request names its revision and what its client can do", Severity: order.Error, First: last, Last: last, Section: "basic, General fields"}
	anonymous  = order.Demand{Rule: "P14", Title: "a request names its client", Severity: order.Warning, First: last, Last: last, Section: "basic, General fields"}
)

// The rules of what is evidence, beside those of package order.
var (
	unanswered  = order.Demand{Rule: "E1", Title: "every request is answered", Severity: order.Error, Section: "basic, Responses"}
	openEnd     = order.Demand{Rule: "E2", Title: "a request may stay without an answer", Severity: order.Note, Section: "basic, Responses"}
	lateAnswer  = order.Demand{Rule: "E3", Title: "an answer may come after its cancellation", Severity: order.Note, Section: "basic/utilities/cancellation, Timing Considerations"}
	noise       = order.Demand{Rule: "E4", Title: "only messages are on the wire", Severity: order.Error, Section: "basic/transports, stdio"}
	blank       = order.Demand{Rule: "E4", Title: "there are no blank lines on the wire", Severity: order.Warning, Section: "basic/transports, stdio"}
	notUTF8     = order.Demand{Rule: "E5", Title: "messages are UTF-8", Severity: order.Error, Section: "basic/transports"}
	afterEnd    = order.Demand{Rule: "E6", Title: "nothing is sent after the end", Severity: order.Warning}
	gap         = order.Demand{Rule: "E7", Title: "the recording is whole", Severity: order.Warning}
	redefined   = order.Demand{Rule: "E8", Title: "a tool stays what it was", Severity: order.Warning, Section: "server/tools, Security Considerations"}
	misrouted   = order.Demand{Rule: "E9", Title: "headers say what the body says", Severity: order.Error, First: last, Last: last, Section: pageHTTP + ", Server Validation"}
	unrouted    = order.Demand{Rule: "E9", Title: "a request has its routing headers", Severity: order.Error, First: last, Last: last, Section: pageHTTP + ", Request Metadata"}
	silent      = order.Demand{Rule: "E10", Title: "a client goes on behind an answer", Severity: order.Note}
	gaveUp      = order.Demand{Rule: "E11", Title: "an answer comes before its caller gives up", Severity: order.Warning, Section: "basic/lifecycle, Timeouts"}
	ranOut      = order.Demand{Rule: "E12", Title: "a server runs until its client ends the session", Severity: order.Warning, Section: "basic/lifecycle, Shutdown"}
	notStarted  = order.Demand{Rule: "E13", Title: "a server starts", Severity: order.Error}
	unavailing  = order.Demand{Rule: "E13", Title: "a request is answered in the session", Severity: order.Warning}
	unreceived  = order.Demand{Rule: "E14", Title: "a POST is answered", Severity: order.Error, First: streams, Last: last, Section: "basic/transports, Sending Messages to the Server"}
	outlives    = order.Demand{Rule: "E15", Title: "a server ends when its input does", Severity: order.Note, Section: "basic/lifecycle, Shutdown"}
	noBeginning = order.Demand{Rule: "E16", Title: "a recording has the beginning of its session", Severity: order.Note}
)

// The rules of --schema.
var (
	misfit   = order.Demand{Rule: "S1", Title: "a message fits the schema of its revision", Severity: order.Error, Section: "schema"}
	misprint = order.Demand{Rule: "S1", Title: "a message need not fit where the published schema is wrong", Severity: order.Note, Section: "schema"}
)

// The rules that the user sets.
var (
	tooLong   = order.Demand{Rule: "G1", Title: "no call takes longer than --max-duration", Severity: order.Error}
	expected  = order.Demand{Rule: "G2", Title: "the tools of --expect-tool are called", Severity: order.Error}
	forbidden = order.Demand{Rule: "G3", Title: "the tools of --forbid-tool are not called", Severity: order.Error}
	unlike    = order.Demand{Rule: "G4", Title: "the tools are those of --baseline", Severity: order.Error}
)

// Demands lists all rules that a recording can break: those of package order, of streams and of retries (P),
// of the steps (U), of evidence (E), of the schema (S), and those that
// the user sets (G).
func Demands() (list []order.Demand) {
	for _, part := range [][]order.Demand{
		order.Demands(),
		{eventTwice, eventAgain, eventOfOther, eventUnknown, answerOnGet, resumedModern},
		{stateKept, stateUnasked, inputMethod, inputNone, inputKind, inputUnable},
		{notJSONRPC, unnamed, anonymous},
		{takenUnsent, takenBack, answersRaw, afterBody, overfull},
		{unanswered, openEnd, lateAnswer, noise, blank, notUTF8, afterEnd, gap, redefined, misrouted, unrouted, silent, gaveUp, ranOut, notStarted, unavailing, unreceived, outlives, noBeginning},
		{misfit, misprint},
		{tooLong, expected, forbidden, unlike},
	} {
		for _, d := range part {
			if d.First == "" {
				d.First, d.Last = first, last
			}
			if d.Observable() {
				list = append(list, d)
			}
		}
	}
	return list
}
