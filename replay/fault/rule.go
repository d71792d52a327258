package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Action is what a rule does to a message.
type Action string

// The actions. The package's documentation says what each does.
//
// To add one: name it here and in [Actions]; say in parseArguments what may stand behind it, in the package's
// documentation, in the help of --fault (cmd/mcprec, faultHelp) and in docs/serve.md what it does, and do it
// in [Machine.Say]; give testdata/faults.txt an example.
const (
	Delay        Action = "delay"
	Drop         Action = "drop"
	Duplicate    Action = "duplicate"
	Reorder      Action = "reorder"
	LateProgress Action = "late-progress"
	HalfFrame    Action = "half-message"
	Disconnect   Action = "disconnect"
	Silent       Action = "silent"
	EndStream    Action = "end-stream"
	Flood        Action = "stderr"
	Status       Action = "status"
)

// mostFlood is how many bytes of standard error a rule may ask for.
const mostFlood = 1 << 30

// Actions lists the actions.
var Actions = []Action{Delay, Drop, Duplicate, Reorder, LateProgress, HalfFrame, Disconnect, EndStream, Silent, Flood, Status}

// Rule is a fault, and the messages that it falls on.
type Rule struct {
	Action Action
	Wait   time.Duration // of a delay, or of a reorder
	Silent bool          // of a half-frame: the connection stays open
	Code   int           // of a status
	Size   int           // of a flood of standard error, in bytes
	Chance float64       // 0 to 1
	First  int           // how many calls at most; 0: any number

	text string
	fits *filter.Filter
}

// String returns the rule as it was written.
func (r Rule) String() string { return r.text }

// reorderWait is how long a reordered message waits for the next.
const reorderWait = time.Second

// word is a word of a rule and its place.
type word struct {
	text string
	at   int
}

// Parse reads a rule. An error names the place in it.
func Parse(text string) (Rule, error) {
	r := Rule{text: text, Chance: 1, Wait: reorderWait}
	words := split(text)
	i := slices.IndexFunc(words, func(w word) bool { return slices.Contains(Actions, Action(w.text)) })
	if i < 0 {
		return r, noAction(text, words)
	}
	r.Action = Action(words[i].text)
	condition := text[:words[i].at]
	fits, err := filter.Parse(condition)
	if err != nil {
		return r, fmt.Errorf("fault %s: %w", quote(text), err)
	}
	r.fits = fits
	return r, r.parseArguments(text, words[i+1:])
}

// noAction returns the error for a rule without an action. The first word that is no term with a
// field was probably to be one.
func noAction(text string, words []word) error {
	for _, w := range words {
		if !strings.ContainsAny(w.text, `:"`) {
			return failure(text, w.at, "%s is no action; want one of %s", quote(w.text), actionNames())
		}
	}
	return failure(text, len(text), "no action; want one of %s behind the filter", actionNames())
}

// parseArguments reads what follows the action.
func (r *Rule) parseArguments(text string, words []word) error {
	next := func() (w word) {
		w.at = len(text)
		if len(words) > 0 {
			w = words[0]
			words = words[1:]
		}
		return w
	}
	duration := func(w word) error {
		d, err := time.ParseDuration(w.text)
		if err != nil || d <= 0 {
			return failure(text, w.at, "%s: want a duration such as 500ms or 5s, not %s", r.Action, quote(w.text))
		}
		r.Wait = d
		return nil
	}
	switch r.Action {
	case Delay:
		if err := duration(next()); err != nil {
			return err
		}
	case Reorder:
		if len(words) > 0 && isDigit(words[0].text) && !strings.HasSuffix(words[0].text, "%") {
			if err := duration(next()); err != nil {
				return err
			}
		}
	case HalfFrame:
		if len(words) > 0 && words[0].text == string(Silent) {
			r.Silent = true
			next()
		}
	case Flood:
		w := next()
		size, err := phrase.ParseSize(w.text)
		switch {
		case err != nil || size < 1:
			return failure(text, w.at, "stderr: want how many bytes, such as 100k or 1M, not %s", quote(w.text))
		case size > mostFlood:
			return failure(text, w.at, "stderr: %s is too much; want at most 1G", quote(w.text))
		}
		r.Size = int(size)
	case Status:
		w := next()
		code, err := strconv.Atoi(w.text)
		if err != nil || code < 300 || code > 599 {
			return failure(text, w.at, "status: want an HTTP status from 300 to 599, not %s", quote(w.text))
		}
		r.Code = code
	}
	for len(words) > 0 {
		w := next()
		percent, isPercent := strings.CutSuffix(w.text, "%")
		switch {
		case isPercent:
			chance, err := strconv.ParseFloat(percent, 64)
			if err != nil || !(chance > 0 && chance <= 100) {
				return failure(text, w.at, "want a chance such as 10%%, not %s", quote(w.text))
			}
			r.Chance = chance / 100
		case w.text == "once":
			r.First = 1
		case w.text == "first":
			w = next()
			n, err := strconv.Atoi(w.text)
			if err != nil || n < 1 {
				return failure(text, w.at, "first: want a number of calls such as first 3, not %s", quote(w.text))
			}
			r.First = n
		default:
			return failure(text, w.at, "%s: want a chance such as 10%%, once, first N or the end, not %s", r.Action, quote(w.text))
		}
	}
	return nil
}

// split returns the words of a rule. Blanks in quotes belong to a word.
func split(text string) (words []word) {
	begin := -1 // of the present word
	quoted := false
	for i := 0; i <= len(text); i++ {
		isBlank := i == len(text) || strings.IndexByte(" \t\r\n", text[i]) >= 0
		switch {
		case i < len(text) && quoted && text[i] == '\\':
			i++
		case i < len(text) && text[i] == '"':
			quoted = !quoted
		}
		switch {
		case begin < 0 && !isBlank:
			begin = i
		case begin >= 0 && (i >= len(text) || isBlank && !quoted):
			words = append(words, word{text[begin:min(i, len(text))], begin})
			begin = -1
		}
	}
	if begin >= 0 {
		words = append(words, word{text[begin:], begin})
	}
	return words
}

func isDigit(text string) bool { return text != "" && '0' <= text[0] && text[0] <= '9' }

// failure is an error at a place in a rule, counted from 1.
func failure(text string, at int, format string, args ...any) error {
	return fmt.Errorf("fault %s: at %d: %s", quote(text), at+1, fmt.Sprintf(format, args...))
}

func quote(text string) string { return strconv.Quote(phrase.Shorten(text, 60)) }

func actionNames() string {
	var names []string
	for _, a := range Actions {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}
