package surface

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Tier is how much a change matters to a client.
type Tier int

// The tiers, in their order.
const (
	Minor Tier = iota
	Risky
	Breaking
)

// String returns the word of the tier.
func (t Tier) String() string { return [...]string{"minor", "risky", "breaking"}[t] }

// Change is a difference between two surfaces.
type Change struct {
	Tier Tier
	Item string // such as tool "count"
	Text string // a sentence about the item, without its subject where that is the item itself
	Seq  uint64 // the event of the older session that has the item, or the list that lacks it
}

// String returns the change as a sentence.
func (c Change) String() string {
	if strings.HasPrefix(c.Text, "the ") { // it has a subject
		return c.Item + ": " + c.Text
	}
	return c.Item + " " + c.Text
}

// Comparison is the result of comparing two surfaces.
type Comparison struct {
	Changes []Change
	Greeted bool // revision and capabilities were compared
	Lists   int  // lists that were compared
	Items   int  // of them, in the older session
}

// Compare compares a surface with an older one.
func Compare(was, is *Surface) (found Comparison) {
	if was.greeting.seq > 0 && is.greeting.seq > 0 {
		found.Greeted = true
		greeting := comparison{item: "the server", seq: was.greeting.seq}
		if reflect.DeepEqual(was.wanted, is.wanted) { // else the clients differ
			greeting.revision(was.greeting.members, is.greeting.members)
		}
		greeting.greet(was.greeting.members, is.greeting.members)
		found.Changes = greeting.changes
	}
	for _, kind := range listings {
		before, after := was.lists[kind.method], is.lists[kind.method]
		if before == nil || after == nil || !before.whole || !after.whole {
			continue
		}
		found.Lists++
		found.Items += len(before.items)
		found.Changes = append(found.Changes, compareLists(kind, before, after)...)
	}
	return found
}

// compareLists compares the items of a list by their names.
func compareLists(kind listing, before, after *list) (changes []Change) {
	for _, name := range slices.Sorted(maps.Keys(before.items)) {
		was := before.items[name]
		c := comparison{item: kind.noun + " " + phrase.QuotedName(name), seq: was.seq}
		is, isThere := after.items[name]
		if isThere {
			c.compareItems(was.members, is.members)
		} else {
			c.add(Breaking, "is gone%s", heir(was, name, before, after))
		}
		changes = append(changes, c.changes...)
	}
	for _, name := range slices.Sorted(maps.Keys(after.items)) {
		if _, wasThere := before.items[name]; !wasThere {
			changes = append(changes, Change{Minor, kind.noun + " " + phrase.QuotedName(name), "is new", before.seq})
		}
	}
	return changes
}

// heir names a new item that takes the same arguments as the one that is gone.
func heir(gone item, name string, before, after *list) string {
	for _, other := range slices.Sorted(maps.Keys(after.items)) {
		_, wasThere := before.items[other]
		arguments := gone.members["inputSchema"]
		if !wasThere && arguments != nil && reflect.DeepEqual(arguments, after.items[other].members["inputSchema"]) {
			return "; " + phrase.QuotedName(other) + ", which is new, takes the same arguments"
		}
	}
	return ""
}

// comparison collects the changes of one item.
type comparison struct {
	item    string
	seq     uint64
	changes []Change
}

func (c *comparison) add(tier Tier, format string, args ...any) {
	c.changes = append(c.changes, Change{tier, c.item, fmt.Sprintf(format, args...), c.seq})
}

// revision compares the revisions that servers settled on.
func (c *comparison) revision(was, is map[string]any) {
	if !reflect.DeepEqual(was[mcp.MemberProtocolVersion], is[mcp.MemberProtocolVersion]) {
		c.add(Breaking, "settled on revision %s, not %s", excerpt(is[mcp.MemberProtocolVersion]), excerpt(was[mcp.MemberProtocolVersion]))
	}
}

// greet compares what else servers say of themselves at the beginning.
func (c *comparison) greet(was, is map[string]any) {
	if !reflect.DeepEqual(was["instructions"], is["instructions"]) {
		c.add(Risky, "gives other instructions")
	}
	before, _ := was["capabilities"].(map[string]any)
	after, _ := is["capabilities"].(map[string]any)
	c.capabilities("", before, after)
}

// capabilities compares two objects of capabilities.
func (c *comparison) capabilities(above string, was, is map[string]any) {
	for _, name := range keysOf(was, is) {
		path := above + name
		before, had := was[name]
		after, has := is[name]
		inner, isObject := before.(map[string]any)
		innerNow, isObjectNow := after.(map[string]any)
		switch {
		case isObject && isObjectNow:
			c.capabilities(path+".", inner, innerNow)
		case reflect.DeepEqual(before, after):
		case !had && after == false || !has && before == false: // the same
		case !had || before == false:
			c.add(Minor, "has the capability %s", phrase.Name(path))
		case !has || after == false:
			c.add(Breaking, "no longer has the capability %s", phrase.Name(path))
		default:
			c.add(Risky, "has another capability %s: %s, not %s", phrase.Name(path), excerpt(after), excerpt(before))
		}
	}
}

// notCompared are members that no client depends on, or that differ with every release.
var notCompared = []string{"icons", mcp.MemberMeta, "size", "version"}

// compareItems compares two items of one name.
func (c *comparison) compareItems(was, is map[string]any) {
	for _, member := range keysOf(was, is) {
		before, after := was[member], is[member]
		switch {
		case slices.Contains(notCompared, member) || reflect.DeepEqual(before, after):
		case member == "inputSchema":
			c.schema(input, "", before, after)
		case member == "outputSchema" && after == nil:
			c.add(Breaking, "has no output schema any more")
		case member == "outputSchema" && before == nil:
			c.add(Minor, "has an output schema")
		case member == "outputSchema":
			c.schema(output, "", before, after)
		case member == "arguments": // of a prompt
			c.arguments(before, after)
		case before == nil:
			c.add(Risky, "has %s: %s", member, excerpt(after))
		case after == nil:
			c.add(Risky, "has no %s any more", member)
		default:
			c.add(Risky, "has another %s: %s, not %s", member, excerpt(after), excerpt(before))
		}
	}
}

// arguments compares the arguments of a prompt.
func (c *comparison) arguments(was, is any) {
	before, after := byName(was), byName(is)
	for _, name := range keysOf(before, after) {
		old, had := before[name].(map[string]any)
		now, has := after[name].(map[string]any)
		argument := "the argument " + phrase.QuotedName(name)
		switch {
		case !has:
			c.add(Breaking, "%s is gone", argument)
		case now["required"] == true && !had:
			c.add(Breaking, "%s is new and required", argument)
		case !had:
			c.add(Minor, "%s is new", argument)
		case now["required"] == true && old["required"] != true:
			c.add(Breaking, "%s is now required", argument)
		case now["required"] != true && old["required"] == true:
			c.add(Minor, "%s is no longer required", argument)
		case !reflect.DeepEqual(old["description"], now["description"]):
			c.add(Risky, "%s has another description", argument)
		}
	}
}

// byName returns the objects of a list by their member name.
func byName(value any) map[string]any {
	objects := map[string]any{}
	entries, _ := value.([]any)
	for _, entry := range entries {
		object, _ := entry.(map[string]any)
		if name, named := object["name"].(string); named {
			objects[name] = object
		}
	}
	return objects
}

// decode reads JSON for comparisons by value; nil if it is none.
func decode(raw json.RawMessage) any {
	value, err := mcp.Value(raw)
	if err != nil {
		return nil
	}
	return value
}

// excerpt writes a value for a sentence.
func excerpt(value any) string {
	if value == nil {
		return "none"
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return phrase.Clip(string(raw), 60)
}

// keysOf returns the keys of two objects in order, each once.
func keysOf(a, b map[string]any) []string {
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	return slices.Compact(keys)
}
