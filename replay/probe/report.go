package probe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Report is the result of a probe.
type Report struct {
	Role string // of the peer: client or server
	Peer Peer
	// Model is the model of the peer, if Measured.
	Model    closed.Model
	Measured bool
	// Also are models whose properties the peer has as well. No model has several at once.
	Also     []closed.Model
	Evidence Evidence
	Observed Observed
	Findings []Finding // answered questions
	Open     []Finding // questions without an answer; Detail says why
}

// Evidence says how it is known that a peer stands still.
type Evidence string

// The kinds of evidence.
const (
	// Proved: in a bubble no goroutine of the peer could go on, and no timer changed that.
	Proved Evidence = "proved"
	// Stalled: the stacks of the peer's goroutines stood still, in real time.
	Stalled Evidence = "stalled"
	// External: the peer is a process, and the kernel showed that all its threads sleep.
	External Evidence = "observed"
)

// says is the evidence for people.
func (e Evidence) says() string {
	switch e {
	case Stalled:
		return "in real time: it stood still, which is no proof"
	case External:
		return "observed on a process, not proved"
	}
	return "each standstill is proved"
}

// Peer is what a peer says of itself.
type Peer struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Revision string   `json:"revision"` // of the protocol
	Offers   []string `json:"offers"`   // such as "13 tools", or of a client the capabilities
}

// Finding is a question and its answer.
type Finding struct {
	Question
	Answer string `json:"answer"` // such as yes, no, 2
	Detail string `json:"detail"`
}

// Question is a question about a peer: a stable word, and how people read it.
type Question struct {
	Key  string `json:"key"`
	Text string `json:"question"`
}

// found adds an answered question.
func (r *Report) found(question Question, answer, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{question, answer, fmt.Sprintf(format, args...)})
}

// open adds a question without an answer.
func (r *Report) open(question Question, format string, args ...any) {
	r.Open = append(r.Open, Finding{question, "", fmt.Sprintf(format, args...)})
}

// conclude takes the model from what was observed.
func (r *Report) conclude() {
	models := r.Observed.Models()
	if len(models) > 0 {
		r.Model, r.Measured, r.Also = models[0], true, models[1:]
	}
}

// Word returns the model as --client and --server read it; "" if it was not measured.
func (r Report) Word() string {
	if !r.Measured {
		return ""
	}
	return r.Model.String()
}

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	how := r.Evidence.says()
	switch {
	case r.Measured:
		fmt.Fprintf(&b, "%s %s (%s)\n  %s\n", r.Role, r.Word(), how, means(r.Model))
	case r.Observed.Idle == No:
		fmt.Fprintf(&b, "%s of no known model (%s)\n  it stops reading although it waits for nothing\n", r.Role, how)
	default:
		fmt.Fprintf(&b, "%s whose model was not measured (%s)\n", r.Role, how)
	}
	for _, also := range r.Also {
		fmt.Fprintf(&b, "  and as %v: %s; no model is both\n", also, means(also))
	}
	if r.Peer.Name != "" {
		fmt.Fprintf(&b, "  it is %s %s, revision %s; it offers %s\n", phrase.Name(r.Peer.Name), phrase.Name(r.Peer.Version), phrase.Name(r.Peer.Revision), orNothing(r.Peer.Offers))
	}
	b.WriteString("\n")
	list := func(findings []Finding, of func(Finding) string) {
		width := 0
		for _, f := range findings {
			width = max(width, len(f.Text))
		}
		for _, f := range findings {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, f.Text, of(f))
		}
	}
	list(r.Findings, func(f Finding) string {
		if f.Detail == "" {
			return f.Answer
		}
		return f.Answer + ": " + f.Detail
	})
	if len(r.Open) > 0 {
		b.WriteString("\nnot measured:\n")
		list(r.Open, func(f Finding) string { return f.Detail })
	}
	if r.Measured {
		fmt.Fprintf(&b, "\nmcprec replay --%s %s SESSION plays a session with such a %s\n", r.Role, r.Word(), r.Role)
	}
	return b.String()
}

// means says how an end of a model works.
func means(model closed.Model) string {
	word := model.String()
	queue, isInbox := model.Queue()
	if isInbox {
		word = "notification-queue=Q"
	}
	terms := closed.ModelTerms()
	says := terms[slices.IndexFunc(terms, func(t closed.Term) bool { return t.Word == word })].Means
	if isInbox {
		says = strings.Replace(says, "queue of Q", fmt.Sprintf("queue of %d", queue), 1)
	}
	return says
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// MarshalJSON writes the report with lists that are never null.
func (r Report) MarshalJSON() ([]byte, error) {
	also := []string{}
	for _, model := range r.Also {
		also = append(also, model.String())
	}
	peer := r.Peer
	peer.Offers = append([]string{}, peer.Offers...)
	return json.Marshal(struct {
		Role     string    `json:"role"`
		Model    string    `json:"model"`
		Also     []string  `json:"also"`
		Evidence Evidence  `json:"evidence"`
		Peer     Peer      `json:"peer"`
		Findings []Finding `json:"findings"`
		Open     []Finding `json:"not_measured"`
	}{r.Role, r.Word(), also, r.Evidence, peer, append([]Finding{}, r.Findings...), append([]Finding{}, r.Open...)})
}
