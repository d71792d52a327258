package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Breach is a frame that broke a rule of the protocol.
type Breach struct {
	order.Violation
	Frame string `json:"frame"` // its content name, with its direction
	Step  int    `json:"step"`  // that took it from its writer's hand
}

// gave tells the rules that a reader has a frame.
func (g *gate) gave(f *flight) {
	if g.rules != nil {
		g.rules.Give(f.dir, f.said.Parsed)
	}
}

// live reports whether the end that sends in a direction is a peer under test,
// not one that plays from a recording.
func (r *Run) live(dir transport.Direction) bool {
	for _, h := range r.halves {
		if h.end.out.dir == dir {
			return false
		}
	}
	for _, a := range r.actors {
		if a.own == dir {
			return false
		}
	}
	return true
}

// judge asks the oracles about a run that no other judgement has failed.
func (r *Run) judge() {
	if r.verdict != Pass {
		return
	}
	for _, b := range r.breaches() {
		if b.Severity == order.Error {
			r.verdict, r.category = Illegal, b.Rule
			r.why = fmt.Sprintf("%s: %s; at step %d, %s", b.Text, b.Title, b.Step, b.Frame)
			return
		}
	}
	if c := r.owed(); c != nil {
		dir := c.request.dir
		r.verdict = Lost
		ends := "both ends are open, and nothing is on its way"
		if r.halved(dir) {
			ends = fmt.Sprintf("the %s had closed its writing side alone and read on", dir.Sender())
		}
		r.why = fmt.Sprintf("the %s read %s of the %s at step %d and answers it to nobody: every operation has returned, the request was not cancelled, %s",
			dir.Receiver(), c.name, dir.Sender(), c.request.given, ends)
	}
}

// breaches lists the rules that live ends broke, in the order of the wire.
func (r *Run) breaches() []Breach {
	var list []Breach
	for _, b := range r.gate.breaches {
		if r.live(b.Dir) {
			list = append(list, b)
		}
	}
	return list
}

// owed returns the first request that a live end has read and not answered, though
// its sender still listens and did not try to cancel it; or nil.
func (r *Run) owed() *call {
	if r.plan.Lawless || r.kind == Settle { // where time is real, an answer may still come
		return nil
	}
	for _, c := range r.gate.names.calls {
		back := r.gate.lane(c.request.dir.Reverse())
		shut := back.ended || back.ending || back.deafened || back.leaving
		unsent := c.answer == nil
		if r.halved(c.request.dir) { // who asked wants to know, whatever the far end then closes
			shut, unsent = false, unsent || c.answer.taken == 0
		}
		if c.request.given > 0 && unsent && !c.cancelled && !c.listen && !shut && r.live(back.dir) {
			return c
		}
	}
	return nil
}

// halved reports whether the sender of a direction has closed its writing side alone,
// and read on, if not for ever then to the end.
func (r *Run) halved(dir transport.Direction) bool {
	back := r.gate.lane(dir.Reverse())
	return r.gate.lane(dir).halved && (back.eof > 0 || !back.deafened && !back.leaving)
}

// answer is what a request of a run got.
type answer struct {
	name   string
	params json.RawMessage // of the request
	result json.RawMessage // or the error
}

// answers lists what live ends answered in a run that came to its end.
func (r *Run) answers() []answer {
	list := make([]answer, 0, len(r.gate.names.calls))
	for _, c := range r.gate.names.calls {
		if c.answer == nil || c.answer.given == 0 || !r.live(c.answer.dir) {
			continue
		}
		request, response := c.message(c.request), c.message(c.answer)
		result := response.Result
		if result == nil {
			result = response.Error
		}
		list = append(list, answer{c.name, request.Params, result})
	}
	return list
}

// message finds the call's message in a frame, which may be a batch.
func (c *call) message(f *flight) transport.Message {
	for _, m := range f.said.Messages {
		if (m.Kind() == transport.Response) == (f == c.answer) && mcp.Same(m.ID, c.id) {
			return m
		}
	}
	return transport.Message{}
}

// comparison holds the first answer to each request of a search. Runs are added in
// the order of their numbers, so that what it finds is the same on every machine.
type comparison struct {
	first map[string][]*variant // by content name
	told  int                   // answers that were found to change
}

// variant is the first answer to a request with certain parameters: the same name
// may stand for other ones where twins are offered in another order.
type variant struct {
	params []byte // canonical
	raw    answer
	token  Token
	done   bool // it is known to change
}

// shownAnswers is how many changing answers a report tells of.
const shownAnswers = 3

// compareAnswers looks for an answer that is not what the same request got in an
// earlier run. What differs as bytes only, or in ids and progress tokens, is the
// same.
func (s *search) compareAnswers(r *Run) {
	if r.verdict != Pass && !r.leaksAlone() || r.cut {
		return
	}
	if s.answers.first == nil {
		s.answers.first = map[string][]*variant{}
	}
	for _, a := range r.answers() {
		v, changed := s.answers.add(a, r)
		if !changed {
			continue
		}
		v.done = true
		if s.answers.told++; s.answers.told > shownAnswers {
			return
		}
		text, random := s.prove(v, a, r.asToken())
		if s.plan.SameAnswers && !random {
			r.verdict, r.why = Different, text
			r.sequence, r.recording = r.draw(), r.events()
			return
		}
		s.notes = append(s.notes, text)
	}
}

// add compares an answer with the first to its request.
func (c *comparison) add(a answer, r *Run) (v *variant, changed bool) {
	known := c.first[a.name]
	if len(known) > 0 && bytes.Equal(known[0].raw.params, a.params) &&
		(known[0].done || bytes.Equal(known[0].raw.result, a.result)) {
		return nil, false
	}
	params := canonical(a.params)
	for _, v := range known {
		if bytes.Equal(v.params, params) {
			return v, !v.done && !bytes.Equal(canonical(v.raw.result), canonical(a.result))
		}
	}
	c.first[a.name] = append(known, &variant{params: params, raw: a, token: r.asToken()})
	return nil, false
}

// prove follows both schedules again: an answer that is another one in the same
// schedule does not depend on the order.
func (s *search) prove(v *variant, a answer, token Token) (text string, random bool) {
	one, other := s.answerOf(v.token, a.name), s.answerOf(token, a.name)
	if !bytes.Equal(one, canonical(v.raw.result)) || !bytes.Equal(other, canonical(a.result)) {
		return fmt.Sprintf("the answer to %s is another one in the same schedule, too: it is random, or depends on something outside", a.name), true
	}
	before, after := excerpts(one, other)
	return fmt.Sprintf("the answer to %s changes with the order: %s (token %v), but %s (token %v)",
		a.name, before, v.token, after, token), false
}

// answerOf follows a token and returns the canonical answer to a request.
func (s *search) answerOf(token Token, name string) []byte {
	r := s.newRun(token.Capacity)
	r.token, r.level = &token, token.Level
	r.play(s.t, s.plan)
	for _, a := range r.answers() {
		if a.name == name {
			return canonical(a.result)
		}
	}
	return nil
}

// canonical is JSON with sorted keys, without what no order makes: _meta holds
// progress tokens and ids.
func canonical(raw json.RawMessage) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
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

// excerpts returns two texts from a little before where they part.
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

func excerpt(b []byte, from int) string {
	const most = 60
	s, to := "", min(len(b), from+most)
	for to < len(b) && !utf8.RuneStart(b[to]) {
		to--
	}
	if from > 0 {
		s = "…"
	}
	s += string(b[from:to])
	if to < len(b) {
		s += "…"
	}
	return s
}
