package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// spotKey is a value that one end makes up and the other gives back, and what it
// is: a cursor, a task id, a request state.
type spotKey struct{ kind, value string }

// spot is where such a value stands.
type spot struct {
	spotKey
	path []string
}

// spotKinds are the members that hold one, and what they hold.
var spotKinds = map[string]string{"cursor": "cursor", "nextCursor": "cursor", "taskId": "task", "requestState": "state"}

// spots lists those of a JSON value, in a fixed order.
func spots(raw json.RawMessage) []spot {
	var found []spot
	for name := range spotKinds {
		if bytes.Contains(raw, []byte(name)) { // nearly never: a call has none
			findSpots(decoded(raw), nil, &found)
			break
		}
	}
	return found
}

func findSpots(v any, path []string, found *[]spot) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			at := append(slices.Clone(path), k)
			if text, ok := v[k].(string); ok && spotKinds[k] != "" {
				*found = append(*found, spot{spotKey{spotKinds[k], text}, at})
			}
			findSpots(v[k], at, found)
		}
	case []any:
		for i, e := range v {
			findSpots(e, append(slices.Clone(path), strconv.Itoa(i)), found)
		}
	}
}

// decoded returns a JSON value with its numbers as written; absent{} of none.
func decoded(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return absent{}
	}
	return v
}

// learn keeps what the live server made up where the recorded one had made up
// something else.
func (d *Driver) learn(recorded, live json.RawMessage) {
	old := spots(recorded)
	if len(old) == 0 {
		return
	}
	for _, s := range spots(live) {
		i := slices.IndexFunc(old, func(o spot) bool { return slices.Equal(o.path, s.path) })
		if i >= 0 && old[i].value != s.value {
			d.learned[old[i].spotKey] = s.value
		}
	}
}

// respell is a place in a line where a value of the live server belongs.
type respell struct {
	path     []string
	question *turn // whose id, or token, it is
	token    bool
	spot     spotKey // or a value that it has learned
}

// value returns the live value; nil to leave the recorded one.
func (e respell) value(d *Driver) []byte {
	switch {
	case e.question != nil && e.token:
		return e.question.token
	case e.question != nil:
		return e.question.id
	}
	text, ok := d.learned[e.spot]
	if !ok {
		return nil
	}
	value, _ := json.Marshal(text)
	return value
}
