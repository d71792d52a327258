package replay

import (
	"bytes"
	"encoding/json"
)

// spotKey is a value that one end makes up and the other gives back, and what it
// is: a cursor, a task id, a request state.
type spotKey struct{ kind, value string }

// spotKinds are the members that hold one, and what they hold.
var spotKinds = map[string]string{"cursor": "cursor", "nextCursor": "cursor", "taskId": "task", "requestState": "state"}

// spots lists those of a JSON value, in a fixed order.
func spots(raw json.RawMessage) []spotKey {
	var found []spotKey
	for name := range spotKinds {
		if bytes.Contains(raw, []byte(name)) { // nearly never: a call has none
			findSpots(treeOf(raw), &found)
			break
		}
	}
	return found
}

func findSpots(n tree, found *[]spotKey) {
	for i, kid := range n.kids {
		if n.kind == '{' && kid.kind == '"' && spotKinds[n.keys[i]] != "" {
			*found = append(*found, spotKey{spotKinds[n.keys[i]], kid.text})
		}
		findSpots(kid, found)
	}
}

// respell is a place in an answer where the id, or the progress token, of the live
// server's question belongs.
type respell struct {
	path     []string
	question *turn
	token    bool
}

// value returns the live value.
func (e respell) value() []byte {
	switch {
	case e.question.live == nil:
		return nil
	case e.token:
		return e.question.live.ProgressToken()
	}
	return e.question.live.ID
}
