package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/transport/mcp"
)

// answer is a request of a run and its response.
type answer struct {
	name    string
	params  json.RawMessage // of the request
	result  json.RawMessage // or the error
	excused bool            // of an excused end: a change is no verdict
}

// comparison holds the first answer to each request of a search. Runs are added in the
// order of the numbers: the findings are the same on every machine.
type comparison struct {
	first  map[string][]*variant         // by content name
	told   int                           // changed answers
	follow func(schedule.Token) []answer // runs a schedule again
}

// variant is the first answer to a request with certain parameters. Twins offered in another
// order swap names.
type variant struct {
	params []byte // canonical
	raw    answer
	token  schedule.Token
	done   bool // known to change
}

// shownAnswers is how many changing answers a report tells of.
const shownAnswers = 3

// add returns a text on each answer that differs from the answer to the same request in an
// earlier run, up to the first that depends on the order if fails is set. Differences in
// bytes alone, or in ids and progress tokens, do not count.
func (c *comparison) add(answers []answer, token schedule.Token, fails bool) (changes []string, different bool) {
	if c.first == nil {
		c.first = map[string][]*variant{}
	}
	for _, a := range answers {
		v := c.changed(a, token)
		if v == nil {
			continue
		}
		v.done = true
		c.told++
		if c.told > shownAnswers {
			break
		}
		text, random := c.prove(v, a, token)
		changes = append(changes, text)
		if fails && !random && !a.excused {
			return changes, true
		}
	}
	return changes, false
}

// changed returns the first answer to a request if this answer differs from it.
func (c *comparison) changed(answer answer, token schedule.Token) *variant {
	known := c.first[answer.name]
	if len(known) > 0 && bytes.Equal(known[0].raw.params, answer.params) &&
		(known[0].done || bytes.Equal(known[0].raw.result, answer.result)) {
		return nil
	}
	params := canonical(answer.params)
	for _, v := range known {
		if !bytes.Equal(v.params, params) {
			continue
		}
		if v.done || bytes.Equal(canonical(v.raw.result), canonical(answer.result)) {
			return nil
		}
		return v
	}
	c.first[answer.name] = append(known, &variant{params: params, raw: answer, token: token})
	return nil
}

// prove follows both schedules again: an answer that changes within a schedule does not
// depend on the order.
func (c *comparison) prove(variant *variant, answer answer, token schedule.Token) (text string, random bool) {
	answerOf := func(token schedule.Token) []byte {
		for _, again := range c.follow(token) {
			if again.name == answer.name {
				return canonical(again.result)
			}
		}
		return nil
	}
	one := answerOf(variant.token)
	other := answerOf(token)
	if !bytes.Equal(one, canonical(variant.raw.result)) || !bytes.Equal(other, canonical(answer.result)) {
		return "the answer to " + answer.name + " is another one in the same order, too: " +
			"it is random, or depends on something outside", true
	}
	before, after := excerpts(one, other)
	return fmt.Sprintf("the answer to %s changes with the order: %s (token %v), but %s (token %v)",
		answer.name, before, variant.token, after, token), false
}

// canonical returns JSON with sorted keys, numbers in one spelling and without _meta, which holds progress tokens
// and ids.
func canonical(raw json.RawMessage) []byte {
	v, err := mcp.Value(raw)
	if err != nil {
		return raw
	}
	if object, ok := v.(map[string]any); ok {
		delete(object, mcp.MemberMeta)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// excerpts returns both texts from a little before their first difference.
func excerpts(a, b []byte) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	at = max(0, at-20)
	for at > 0 && !utf8.RuneStart(a[at]) {
		at--
	}
	return excerpt(a, at), excerpt(b, at)
}

func excerpt(data []byte, from int) string {
	const most = 60
	s := ""
	to := min(len(data), from+most)
	for to < len(data) && !utf8.RuneStart(data[to]) {
		to--
	}
	if from > 0 {
		s = "…"
	}
	s += string(data[from:to])
	if to < len(data) {
		s += "…"
	}
	return s
}
