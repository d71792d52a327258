package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// Key is what a request asks for, in a form that can be compared: requests with
// the same Key take their answers from one queue.
type Key string

// Matcher gives a request its Key. Ids must not be part of it.
type Matcher func(transport.Message) (Key, error)

// MatchParams is the default Matcher: the method and the params as canonical
// JSON, keys sorted and numbers as written. Absent params are as empty ones.
// Of _meta it leaves out what says who asks and not what: progressToken, and
// the client's name and capabilities that 2026-07-28 puts in every request.
func MatchParams(m transport.Message) (Key, error) {
	params, err := canonicalParams(m)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(params)
	if err != nil {
		return "", fmt.Errorf("match %s: %v", m.Method, err)
	}
	return Key(m.Method + " " + string(text)), nil
}

// key returns the queue of answers that a request belongs to.
func (r Rules) key(m transport.Message) (Key, error) {
	if r.Match != nil {
		return r.Match(m)
	}
	return MatchParams(m)
}

// matchedByMethod reports whether a request matches whatever its params are: two
// clients never introduce themselves alike.
func matchedByMethod(method string) bool {
	return method == methodInitialize || method == methodDiscover || method == methodPing
}

const (
	methodDiscover = "server/discover"
	methodPing     = "ping"
	methodRoots    = "roots/list"
)

func canonicalParams(m transport.Message) (any, error) {
	if m.Params == nil {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(m.Params))
	dec.UseNumber()
	var params any
	if err := dec.Decode(&params); err != nil {
		return nil, fmt.Errorf("match %s: %v", m.Method, err)
	}
	if params == nil {
		return map[string]any{}, nil
	}
	object, _ := params.(map[string]any)
	if meta, ok := object["_meta"].(map[string]any); ok {
		delete(meta, "progressToken")
		delete(meta, "io.modelcontextprotocol/clientInfo")
		delete(meta, "io.modelcontextprotocol/clientCapabilities")
		if len(meta) == 0 {
			delete(object, "_meta")
		}
	}
	return params, nil
}

// contrast is how two requests differ.
type contrast struct {
	count          int    // of places
	path           string // JSON pointer to the first
	recorded, live string // what is there
}

// contrastParams compares the params as MatchParams does.
func contrastParams(recorded, live transport.Message) contrast {
	var c contrast
	a, errA := canonicalParams(recorded)
	b, errB := canonicalParams(live)
	if errA == nil && errB == nil {
		c.compare("/params", a, b)
	}
	return c
}

// absent stands for a member or element that is not there.
type absent struct{}

func (c *contrast) compare(path string, a, b any) {
	objectA, okA := a.(map[string]any)
	objectB, okB := b.(map[string]any)
	if okA && okB {
		c.compareObjects(path, objectA, objectB)
		return
	}
	listA, okA := a.([]any)
	listB, okB := b.([]any)
	if okA && okB {
		for i := range max(len(listA), len(listB)) {
			c.compare(path+"/"+strconv.Itoa(i), element(listA, i), element(listB, i))
		}
		return
	}
	if reflect.DeepEqual(a, b) {
		return
	}
	if c.count++; c.count == 1 {
		c.path, c.recorded, c.live = path, show(a), show(b)
	}
}

func (c *contrast) compareObjects(path string, a, b map[string]any) {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		c.compare(path+"/"+pointerEscape.Replace(k), member(a, k), member(b, k))
	}
}

func member(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// show returns a value as it stands in a message to the user, on one line.
func show(v any) string {
	if (v == absent{}) {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const limit = 60
	if runes := []rune(string(text)); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(text)
}
