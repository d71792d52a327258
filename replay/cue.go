package replay

import (
	"slices"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// cue is a message of the recorded client, and the live one that stands for it.
type cue struct {
	index   int
	seq     uint64
	at      time.Duration
	packed  transport.Packed
	answer  *reply    // of a request: its response; nil: there was none
	answers *question // of a response: what it answers
	cancels *cue      // of a cancellation: the request
	nth     int       // of a request: among those of its Key, from 1

	arrived bool
	passed  bool   // not waited for any more
	forgone bool   // because the client was silent
	stream  uint64 // of the live message
	on      uint64 // the recorded exchange
	live    *transport.Message
}

func (c *cue) msg() transport.Message { return c.packed.Message() }

func (c *cue) isSettled() bool { return c.arrived || c.passed }

// what names the cue in words.
func (c *cue) what() string {
	if c.answers != nil {
		return "the answer to " + clip(c.answers.method)
	}
	if c.msg().Kind() == transport.Invalid {
		return noiseMethod
	}
	return about(c.msg())
}

// isPondered reports whether the cue is an answer that the live client was asked
// for and may take its time with: only roots and pings are answered at once.
func (c *cue) isPondered() bool {
	q := c.answers
	return !c.isSettled() && q != nil && q.reply.sent && q.method != methodRoots && q.method != methodPing
}

// reply is a recorded frame of the server.
type reply struct {
	index  int
	seq    uint64
	at     time.Duration
	frame  transport.Frame
	before int    // cues recorded before it
	owners []*cue // the requests it belongs to
	aside  bool   // recorded on a stream that is no request's
	edits  []edit
	asks   []*question
	sent   bool

	needs   []*cue   // loose: must have come
	after   []*reply // loose: must have been written
	written bool
}

// question is a request of the recorded server.
type question struct {
	reply  *reply
	id     mcp.Key
	method string
	answer *cue // nil: there was none
	done   bool // the live client answered
}

// edit is a place in a reply where the live client's id or token belongs.
type edit struct {
	path  []string
	owner *cue
	token bool
}

// of is what a message of the client has for the place.
func (e edit) of(m transport.Message) []byte {
	if e.token {
		return m.ProgressToken()
	}
	return m.ID
}

// isPassedBy reports whether the live client, which has said later, will not say
// c any more as the recorded client did.
func (c *cue) isPassedBy(later *cue) bool {
	switch c.msg().Kind() {
	case transport.Request:
		// With its answer still open when later was said, the two were under
		// way together and may come in any order.
		return c.answer == nil || c.answer.before <= later.index
	case transport.Response:
		return c.answers == nil || !c.answers.reply.sent && c.answers.reply.isSkipped()
	}
	return true
}

// answers reports whether the reply is, or has, a response to a request.
func (r *reply) answers() bool {
	return slices.ContainsFunc(r.owners, func(c *cue) bool { return c.answer == r })
}

// isSkipped reports whether the reply belongs to a request that is not coming.
func (r *reply) isSkipped() bool {
	return slices.ContainsFunc(r.owners, func(c *cue) bool { return c.passed && !c.arrived })
}

// isOwned reports whether every request that the reply belongs to has come.
func (r *reply) isOwned() bool {
	return !slices.ContainsFunc(r.owners, func(c *cue) bool { return !c.arrived })
}

// from returns the first cue that the reply waits for.
func (r *reply) from() int {
	if len(r.owners) == 0 {
		return 0
	}
	from := r.before
	for _, c := range r.owners {
		from = min(from, c.index+1)
	}
	return from
}

// belongTo makes the reply the request's, whose live id or token goes to path.
func (r *reply) belongTo(c *cue, token bool, path []string) {
	if !slices.Contains(r.owners, c) {
		r.owners = append(r.owners, c)
	}
	r.edits = append(r.edits, edit{path: path, owner: c, token: token})
}
