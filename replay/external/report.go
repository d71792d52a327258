package external

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Report is what a search has found. Its lists are never nil in JSON but for those that are left out when they are empty.
type Report struct {
	Findings []Finding `json:"findings"`
	Played   int       `json:"played"`  // schedules
	Planned  int       `json:"planned"` // of the search
	Ended    string    `json:"ended,omitempty"`
	Frames   int       `json:"messages"` // of the recorded end
	Requests int       `json:"requests"` // of these
	// Cancelled are requests that are not judged: the recorded client cancels them.
	Cancelled []Request `json:"cancelled,omitempty"`
	NotHeld   []string  `json:"not_held,omitempty"`
	Apart     []Apart   `json:"not_joined,omitempty"` // what no order has joined
	// Unconfirmed are the faults that the search was about to confirm when it was interrupted, each with its token.
	Unconfirmed []string  `json:"unconfirmed,omitempty"`
	Unstable    []uint64  `json:"unstable,omitempty"` // requests whose answers differ by themselves
	Waiting     []Request `json:"waiting,omitempty"`  // requests that a server answered only when another message had come
	Unheeded    []Request `json:"unheeded,omitempty"` // requests that a server answered long after it had read their cancellation
	Dropped     []Request `json:"dropped,omitempty"`  // requests that a server did not answer whose client ended right behind them
	Open        []Request `json:"open,omitempty"`     // requests whose responses a server left open behind the DELETE of their session
	// Blocked are requests that a server answered only when the client had answered its question about another.
	Blocked []Request `json:"blocked,omitempty"`
	Refused string    `json:"refused,omitempty"` // how a server over HTTP refused another client while it had one
	// Outlasted are requests behind which a server got SIGTERM, and ended only when its input did.
	Outlasted []Request `json:"outlasted_sigterm,omitempty"`
	// Failed is set if nothing could be compared: in the recorded order the server answered with errors alone,
	// and the recorded one had results. It lists the errors.
	Failed []string `json:"failed,omitempty"`
	Unlike []string `json:"not_as_recorded,omitempty"` // answers in the recorded order that are errors, and were results
	// Status is how a server ends when its input closes, if that is not status 0, and was so in the recording.
	Status   string        `json:"ends_with,omitempty"`
	Unjudged int           `json:"unjudged,omitempty"` // schedules in which the end under test asked for what the recording does not have
	Took     time.Duration `json:"took_ns"`
	Shown    *Shown        `json:"-"` // with Options.Keep the play of the first finding, or of the token
}

// Finding is a fault of the end under test that several fresh processes have shown.
type Finding struct {
	Kind     Fault     `json:"kind"`
	Peer     string    `json:"peer"`    // "server" or "client": the end under test
	Certain  bool      `json:"certain"` // false: something else than mcprec could still have moved the server
	Requests []Request `json:"requests"`
	Stand    string    `json:"stand,omitempty"` // how the end under test stands, at a hang
	When     string    `json:"when,omitempty"`  // a server does not exit, or answers otherwise
	Detail   string    `json:"detail,omitempty"`
	Lines    []string  `json:"lines,omitempty"` // of source, that hold what waits at a hang, keep what does not exit alive, wrote what is illegal, or at which racing calls met
	Choices  []string  `json:"choices"`         // in words
	Token    string    `json:"token"`
	Held     int       `json:"held"` // processes that showed it
	Of       int       `json:"of"`
}

// Request is a request of the recorded client; of a client under test it is a frame of the recorded server.
type Request struct {
	Event uint64 `json:"event"`
	What  string `json:"what"`
}

// Apart are two messages of the recorded end, by their events, that no order can send together.
type Apart struct {
	First  uint64 `json:"first"`
	Second uint64 `json:"second"`
	Why    string `json:"why"`
}

// Passed reports whether something was played and compared, and nothing found.
func (r Report) Passed() bool { return r.Played > 0 && len(r.Findings) == 0 && len(r.Failed) == 0 }

const (
	mostFailed = 5 // errors that a text lists
	mostApart  = 5 // pairs that a text lists
)

// recordedOrder are the words for a play without a choice.
const recordedOrder = "in the recorded order, without the pauses of the recording"

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.Text())
	}
	return b.String() + r.Rest()
}

// Rest returns the report for people who have seen the findings.
func (r Report) Rest() string {
	var b strings.Builder
	for _, text := range r.NotHeld {
		fmt.Fprintf(&b, "seen, and not again: %s\n", text)
	}
	for _, text := range r.Unconfirmed {
		fmt.Fprintf(&b, "seen, and not confirmed before the search ended: %s\n", text)
	}
	if len(r.Waiting) > 0 {
		fmt.Fprintf(&b, "note: the server answers these only when another message has come, so an order without that message is no hang: %s\n", names(r.Waiting))
	}
	for _, r := range r.Unheeded {
		fmt.Fprintf(&b, "note: %s (#%d) was answered after it was cancelled: the server had read the cancellation, and come to rest\n", r.What, r.Event)
	}
	if len(r.Dropped) > 0 {
		fmt.Fprintf(&b, "note: the client ended its output right behind a request, and the server ended without an answer: %s\n", names(r.Dropped))
	}
	if len(r.Open) > 0 {
		fmt.Fprintf(&b, "note: the client deleted its session, and the server came to rest with a response still open, and without an answer: %s\n", names(r.Open))
	}
	if len(r.Blocked) > 0 {
		fmt.Fprintf(&b, "note: the server keeps these waiting until the client has answered its question about another call, which may take a person minutes: %s\n", names(r.Blocked))
	}
	if r.Refused != "" {
		fmt.Fprintf(&b, "note: the server refused another client while it had one: %s\n", r.Refused)
	}
	if len(r.Outlasted) > 0 {
		fmt.Fprintf(&b, "note: the server goes on after SIGTERM until its input closes: %s\n", names(r.Outlasted))
	}
	b.WriteString(r.unlikeText())
	found := "nothing was found"
	if len(r.Failed) > 0 {
		b.WriteString("nothing was compared: the server answers every request of the recorded client with an error, and the recorded server had results\n")
		for _, text := range r.Failed[:min(len(r.Failed), mostFailed)] {
			fmt.Fprintf(&b, "  %s\n", text)
		}
		found = "no result"
	}
	if count := len(r.Findings); count > 0 {
		found = phrase.Plural(uint64(count), "finding")
	}
	if r.Played == 0 {
		fmt.Fprintf(&b, "nothing was played to its end in %v: no result\n", r.Took.Round(time.Second))
	} else {
		fmt.Fprintf(&b, "%s of %s with %s in %v: %s\n", phrase.Plural(uint64(r.Played), "order"), phrase.Plural(uint64(r.Frames), "message"),
			phrase.Plural(uint64(r.Requests), "request"), r.Took.Round(time.Second), found)
	}
	b.WriteString(cancelledText(r.Cancelled))
	if r.Status != "" {
		fmt.Fprintf(&b, "not judged: the server ends with %s when its input closes, as it did in the recording\n", r.Status)
	}
	b.WriteString(apartText(r.Apart))
	if r.Unjudged > 0 {
		fmt.Fprintf(&b, "not judged: %s in which it asked for what the recording does not have\n", phrase.Plural(uint64(r.Unjudged), "order"))
	}
	switch r.Ended {
	case "":
	case "findings":
		fmt.Fprintf(&b, "the search ended with these findings, before %d orders\n", r.Planned)
	default:
		fmt.Fprintf(&b, "the search was ended before %d orders: %s\n", r.Planned, r.Ended)
	}
	return b.String()
}

// unlikeText says which answers in the recorded order are errors, and were results in the recording.
func (r Report) unlikeText() string {
	if len(r.Unlike) == 0 {
		return ""
	}
	text := fmt.Sprintf("note: the recorded order is not as recorded: %s of %d answered with an error, and had a result in the recording\n",
		phrase.Plural(uint64(len(r.Unlike)), "request"), r.Requests)
	for _, failed := range r.Unlike[:min(len(r.Unlike), mostFailed)] {
		text += "  " + failed + "\n"
	}
	return text
}

// cancelledText says which calls are not judged: "2 calls are not judged: the client cancels them (#6, #10)".
func cancelledText(requests []Request) string {
	if len(requests) == 0 {
		return ""
	}
	var events []string
	for _, r := range requests {
		events = append(events, fmt.Sprintf("#%d", r.Event))
	}
	count := len(requests)
	return fmt.Sprintf("%s not judged: the client cancels %s (%s)\n",
		phrase.Plural(uint64(count), "call")+phrase.Agree(count, " is", " are"), phrase.Agree(count, "it", "them"), strings.Join(events, ", "))
}

// apartText says which messages were not joined: "not joined: #5 and #7, #7 and #9: the client spoke in between".
func apartText(list []Apart) (text string) {
	var reasons []string
	pairs := map[string][]string{}
	for _, a := range list {
		if pairs[a.Why] == nil {
			reasons = append(reasons, a.Why)
		}
		pairs[a.Why] = append(pairs[a.Why], fmt.Sprintf("#%d and #%d", a.First, a.Second))
	}
	for _, why := range reasons {
		named := pairs[why]
		more := ""
		if over := len(named) - mostApart; over > 0 {
			named, more = named[:mostApart], fmt.Sprintf(", and %d more", over)
		}
		text += fmt.Sprintf("not joined: %s%s: %s\n", strings.Join(named, ", "), more, why)
	}
	return text
}

// Text returns the finding for people, with an empty line behind it.
func (f Finding) Text() string { return f.words() + "  token: " + f.Token + "\n\n" }

// words returns the finding without its token.
func (f Finding) words() string {
	what := "ILLEGAL: " + f.Detail
	switch {
	case f.Kind == Illegal:
	case f.Peer == "client":
		what = f.aboutClient()
	default:
		what = f.aboutServer()
	}
	text := fmt.Sprintf("%s; reproduced %d times out of %d\n", what, f.Held, f.Of)
	if (f.Kind == NotSerial || f.Kind == Different || f.Kind == Unequal) && f.Detail != "" {
		text += "  " + f.Detail + "\n"
	}
	if (f.Kind == Hang || f.Kind == Lingers) && !f.Certain {
		text += fmt.Sprintf("  none of %d plays found it without that; play it again with --token when the machine has less to do\n", f.Of)
	}
	for _, line := range f.Lines {
		text += "  " + line + "\n"
	}
	for _, choice := range f.Choices {
		text += "  " + choice + "\n"
	}
	if len(f.Choices) == 0 {
		text += "  " + recordedOrder + "\n"
	}
	return text
}

// head is the word of a finding that is certain, or the same as a suspicion.
func (f Finding) head(certain, suspect string) string {
	if f.Certain {
		return certain
	}
	return "SUSPECT, " + suspect
}

// names lists requests as "tools/call echo (#5), tools/list (#7)".
func names(requests []Request) string {
	var list []string
	for _, r := range requests {
		list = append(list, fmt.Sprintf("%s (#%d)", r.What, r.Event))
	}
	return strings.Join(list, ", ")
}

func (f Finding) aboutServer() string {
	requests := names(f.Requests)
	switch f.Kind {
	case Hang:
		what := f.head("HANG (observed; not a proof): ", "a hang: ")
		if requests != "" {
			what += "no answer to " + requests + "; "
		}
		return strings.TrimSuffix(what+f.Stand+"; "+f.Detail, "; ")
	case Died:
		return strings.TrimSuffix("DIED: the server ended: "+f.Detail, ": ")
	case Lost:
		if f.Detail != "" {
			return "LOST: the response ended without an answer to " + requests + ": " + f.Detail
		}
		return "LOST: the client ended its output, and the server ended without an answer to " + requests
	case Lingers:
		return strings.TrimSuffix(f.head("DOES NOT EXIT", "does not exit")+" when "+f.When+": "+f.Stand+"; "+f.Detail, "; ")
	}
	if f.Kind == Unequal {
		return "DIFFERENT ANSWER when " + f.When + ": " + requests
	}
	if len(f.Requests) == 1 {
		return "RACE: these calls affect each other: together with what goes before it, another answer than alone: " + requests
	}
	return "RACE: these calls affect each other: no order of them explains the answers: " + requests
}

func (f Finding) aboutClient() string {
	switch f.Kind {
	case Hang:
		return f.head("HANG (observed; not a proof): ", "a hang: ") + f.Detail + "; " + f.Stand
	case Died:
		return "DIED: the client ended: " + f.Detail
	case Lingers:
		when := "its server ends: "
		if f.Detail == endedSession {
			when = endedSession + ": "
		}
		return f.head("DOES NOT EXIT", "does not exit") + " when " + when + f.Stand
	case NoSession:
		return "NO NEW SESSION: the client got 404 for its session, and ended without beginning another: " + f.Detail
	}
	if strings.HasPrefix(f.Detail, asksFor) {
		return "DIFFERENT OUTPUT: the client asks for something else than in the recorded order"
	}
	does := "prints"
	if len(f.Requests) > 0 {
		does = "answers " + names(f.Requests)
	}
	return "DIFFERENT OUTPUT: the client " + does + " otherwise than in the recorded order"
}
