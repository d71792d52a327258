package match

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rules say how live messages are compared with recorded ones. The zero value
// compares everything but ids, progress tokens and the identity of the client.
type Rules struct {
	By        Strictness
	Ignore    []Pointer                                 // places left out of the comparison
	Normalize []Normalizer                              // applied to both sides before the comparison
	Match     Matcher                                   // gives requests their Key; nil: By decides
	Mask      func(place []string, value []byte) []byte // what reports show of a JSON value; nil: all of it
	AnyOrder  bool                                      // a notification may come on either side of its call's answer, and before an earlier one
	Parse     func(transport.Frame) []transport.Message // remembers the messages of frames that are read often; nil: timeline.MessagesOf
}

// Messages returns the messages of a frame, none of a frame that is not JSON. They are for
// reading only.
func (r Rules) Messages(frame transport.Frame) []transport.Message {
	if r.Parse != nil {
		return r.Parse(frame)
	}
	return timeline.MessagesOf(frame)
}

// Strictness says which parts of a live request must equal the recorded request to get the
// recorded answer.
type Strictness uint8

const (
	// ByParams: the method and the params.
	ByParams Strictness = iota
	// ByMethod: the method alone; the queue is in recorded order.
	ByMethod
	// ByOrder: the method, and the place among the requests.
	ByOrder
	// Strict: as ByParams, with the identities in _meta and numbers as written.
	Strict
)

var strictnesses = [...]string{"params", "method", "order", "strict"}

// String returns the name that ParseStrictness takes.
func (s Strictness) String() string {
	if int(s) < len(strictnesses) {
		return strictnesses[s]
	}
	return fmt.Sprintf("Strictness(%d)", s)
}

// ParseStrictness reads params, method, order or strict.
func ParseStrictness(name string) (Strictness, error) {
	if i := slices.Index(strictnesses[:], name); i >= 0 {
		return Strictness(i), nil
	}
	return 0, fmt.Errorf("match %q: want params, method, order or strict", name)
}

// Key is a comparable form of a request: requests with the same Key take their answers from
// one queue.
type Key string

// Matcher gives a request a Key. Ids must not be part of the Key.
type Matcher func(transport.Message) (Key, error)

// MatchParams is the Matcher of the zero Rules: the method and the params in one
// spelling, with keys sorted, escapes resolved, the last of a duplicate key, and
// numbers equal that are the same number (100, 1e2). Absent params are as empty
// ones. It leaves out the members of _meta that name the client and not the request:
// progressToken, and the client's name and capabilities that 2026-07-28 puts in every request.
func MatchParams(message transport.Message) (Key, error) { return Rules{}.Key(message) }

// Key returns the key of a request's queue of answers.
func (r Rules) Key(message transport.Message) (Key, error) {
	switch {
	case MatchedByMethod(message.Method):
		return Key(message.Method), nil
	case r.Match != nil:
		return r.Match(message)
	case r.By == ByMethod || r.By == ByOrder:
		return Key(message.Method), nil
	}
	r = r.For(message)
	params, err := parseTree(message.Params)
	if err != nil {
		return "", fmt.Errorf("match %s: params are %v", message.Method, err)
	}
	w := keyWriter{rules: r, b: append([]byte(message.Method), ' '), path: []string{"params"}}
	w.write(r.paramsOf(message, params))
	return Key(w.b), nil
}

// MatchedByMethod reports whether a request matches with any params: two clients never
// introduce themselves alike.
func MatchedByMethod(method string) bool {
	return method == mcp.MethodInitialize || method == mcp.MethodDiscover || method == mcp.MethodPing
}

// paramsOf returns the params of a message without ids and tokens, and without the client's
// identity unless the rules are Strict.
func (r Rules) paramsOf(message transport.Message, params tree) tree {
	if params.kind == 0 || params.kind == 'n' {
		params = tree{kind: '{'}
	}
	switch message.Method {
	case mcp.NotificationProgress:
		params = params.without(mcp.MemberProgressToken)
	case mcp.NotificationCancelled:
		params = params.without(mcp.MemberRequestID)
	case mcp.MethodInitialize:
		if r.By != Strict {
			params = params.without("clientInfo", "capabilities")
		}
	}
	meta := params.member(mcp.MemberMeta)
	if meta.kind != '{' {
		return params
	}
	names := []string{mcp.MemberProgressToken, mcp.MetaSubscriptionID}
	if r.By != Strict {
		names = append(names, mcp.MetaClientInfo, mcp.MetaClientCapabilities)
	}
	meta = meta.without(names...)
	if len(meta.keys) == 0 {
		return params.without(mcp.MemberMeta)
	}
	params.kids = slices.Clone(params.kids)
	i, _ := slices.BinarySearch(params.keys, mcp.MemberMeta)
	params.kids[i] = meta
	return params
}

// keyWriter writes a value in one spelling.
type keyWriter struct {
	rules Rules
	b     []byte
	path  []string // kept only for rules that ignore places, and for shapes
	shape bool     // marks stand for what looks made up
}

func (w *keyWriter) write(tree tree) {
	switch tree.kind {
	case '{':
		w.b = append(w.b, '{')
		for i, kid := range tree.kids {
			w.enter(tree.keys[i], kid, true)
		}
		w.b = append(w.b, '}')
	case '[':
		w.b = append(w.b, '[')
		for i, kid := range tree.kids {
			w.enter(strconv.Itoa(i), kid, false)
		}
		w.b = append(w.b, ']')
	case '"':
		w.quote(w.text(tree))
	case '0':
		w.b = append(w.b, w.text(tree)...)
	default:
		w.b = append(w.b, tree.text...)
	}
}

// enter writes a member or an element. An ignored member leaves no trace, an ignored element
// only a comma.
func (w *keyWriter) enter(step string, kid tree, named bool) {
	ignored := false
	if len(w.rules.Ignore) > 0 || w.shape {
		w.path = append(w.path, step)
		defer func() { w.path = w.path[:len(w.path)-1] }()
		ignored = w.rules.Ignores(w.path)
	}
	switch {
	case ignored && named:
		return
	case named:
		w.quote(step)
	}
	if !ignored {
		w.write(kid)
	}
	w.b = append(w.b, ',')
}

// text returns a string or a number in the form that is compared. For a shape, marks stand in
// the places of made-up values.
func (w *keyWriter) text(tree tree) string {
	text := tree.text
	if tree.kind == '0' {
		text = w.rules.number(text)
	}
	if !w.shape {
		return w.rules.normal(text)
	}
	if kind := handleKind(memberName(w.path)); kind != "" && !isPlainWord(text) {
		return "\x00" + kind
	}
	if len(text) > hintLimit {
		return text
	}
	text = w.rules.normal(text)
	if isOpaque(text) {
		return "\x00made"
	}
	var b []byte
	from := 0
	for _, t := range madeUp(text) {
		b = append(append(append(b, text[from:t.start]...), 0), t.shape...)
		from = t.end
	}
	return string(append(b, text[from:]...))
}

func (w *keyWriter) quote(s string) {
	w.b = append(append(append(w.b, '"'), keyEscapes.Replace(s)...), '"')
}

var keyEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// Call names what a message is about: the call that it begins, answers or reports on, or else its own method.
type Call struct{ Method, Target string }

// CallOf returns the call that a request begins.
func CallOf(request transport.Message) Call {
	return Call{request.Method, timeline.TargetOf(request)}
}

// For returns the rules for what belongs to a request: a pointer that is limited to such calls holds without limit.
func (r Rules) For(request transport.Message) Rules {
	if !slices.ContainsFunc(r.Ignore, Pointer.isLimited) {
		return r
	}
	return r.ForCall(CallOf(request))
}

// ForCall is For with the name of the call.
func (r Rules) ForCall(call Call) Rules {
	if !slices.ContainsFunc(r.Ignore, Pointer.isLimited) {
		return r
	}
	r.Ignore = slices.Clone(r.Ignore)
	for i, p := range r.Ignore {
		if p.isLimited() && p.selects(call) {
			r.Ignore[i].selects = nil
		}
	}
	return r
}

// Ignores reports whether the place is not compared. A limited pointer holds only in what For returns.
func (r Rules) Ignores(path []string) bool {
	return slices.ContainsFunc(r.Ignore, func(pointer Pointer) bool {
		if pointer.isLimited() {
			return false
		}
		covers := slices.EqualFunc(pointer.steps, path, func(step, at string) bool { return step == "*" || step == at })
		if covers && pointer.used != nil && !pointer.used.Load() {
			pointer.used.Store(true)
		}
		return covers
	})
}

// normal applies the normalizers in their order.
func (r Rules) normal(text string) string {
	for _, n := range r.Normalize {
		text = n.Apply(text)
	}
	return text
}

// number returns a number in the form that is compared.
func (r Rules) number(written string) string {
	if r.By == Strict {
		return written
	}
	return mcp.Decimal(written)
}

// Pointer is a JSON pointer (RFC 6901) from a message's root, in which * stands for any
// member or element: /params/arguments/items/*/at. It may lead into a text that is JSON
// itself: /result/content/0/text/items/3. It may be limited to some calls: see [Pointer.Within].
type Pointer struct {
	steps   []string
	used    *atomic.Bool    // the pointer has covered a place; shared by every copy
	limit   string          // to some calls, in words; "" for all
	selects func(Call) bool // those calls; nil: all
}

// Within limits the pointer to the messages of the calls that are selected. The text of the limit is a part of the
// pointer's text.
func (p Pointer) Within(limit string, selects func(Call) bool) Pointer {
	p.limit, p.selects = limit, selects
	return p
}

func (p Pointer) isLimited() bool { return p.selects != nil }

// ParsePointer reads a JSON pointer.
func ParsePointer(text string) (Pointer, error) {
	if !strings.HasPrefix(text, "/") {
		return Pointer{}, fmt.Errorf("JSON pointer %q: want a pointer from the message's root, such as /params/arguments/when", text)
	}
	steps := strings.Split(text[1:], "/")
	for i, s := range steps {
		for j := 0; j < len(s); j++ {
			if s[j] == '~' && (j+1 == len(s) || s[j+1] != '0' && s[j+1] != '1') {
				return Pointer{}, fmt.Errorf("JSON pointer %q: write ~0 for ~ and ~1 for / in a member's name", text)
			}
		}
		steps[i] = pointerUnescape.Replace(s)
	}
	return Pointer{steps: steps, used: new(atomic.Bool)}, nil
}

var (
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// Pointers reads JSON pointers of a program's text, and panics at one that is malformed: see [ParsePointer].
func Pointers(texts ...string) (list []Pointer) {
	for _, text := range texts {
		p, err := ParsePointer(text)
		if err != nil {
			panic(err)
		}
		list = append(list, p)
	}
	return list
}

// String returns the pointer as ParsePointer reads it, behind its limit.
func (p Pointer) String() string { return strings.TrimPrefix(p.limit+" "+pointerText(p.steps), " ") }

func pointerText(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteByte('/')
		pointerEscape.WriteString(&b, s)
	}
	return b.String()
}

// Places is the projection that finds pointers without a place in any message, most likely
// misspelled.
type Places struct{ left []Pointer }

// UnusedPlaces returns a Places for the pointers that have covered no place so far. They may
// still name places that no comparison has visited.
func (r Rules) UnusedPlaces() *Places {
	return &Places{slices.DeleteFunc(slices.Clone(r.Ignore), func(p Pointer) bool { return p.used == nil || p.used.Load() })}
}

// Take takes the next step.
func (p *Places) Take(step timeline.Step) error {
	if len(p.left) == 0 {
		return nil
	}
	for _, m := range step.Messages {
		parts := map[string][]byte{"params": m.Params, "result": m.Result, "error": m.Error}
		about := Call{m.Method, timeline.TargetOf(m.Message)}
		if m.Call != nil {
			about = Call{m.Call.Method, m.Call.Target}
		}
		p.left = slices.DeleteFunc(p.left, func(p Pointer) bool {
			if p.isLimited() && !p.selects(about) {
				return false
			}
			for name, raw := range parts {
				if len(raw) > 0 && (p.steps[0] == name || p.steps[0] == "*") && hasPlace(treeOf(raw), p.steps[1:]) {
					return true
				}
			}
			return false
		})
	}
	return nil
}

// Left returns the pointers that named no place.
func (p *Places) Left() []Pointer { return p.left }

// hasPlace reports whether a value has the place.
func hasPlace(tree tree, steps []string) bool {
	if tree.kind == '"' && len(steps) > 0 && isDocument(tree.text) {
		inner, err := parseTree([]byte(tree.text))
		return err == nil && hasPlace(inner, steps)
	}
	if len(steps) == 0 {
		return tree.kind != 0
	}
	for i, kid := range tree.kids {
		name := strconv.Itoa(i)
		if tree.kind == '{' {
			name = tree.keys[i]
		}
		if (steps[0] == "*" || steps[0] == name) && hasPlace(kid, steps[1:]) {
			return true
		}
	}
	return false
}

// Comparer compares the messages of two recordings. Neither is played: in each, both ends made
// up values of their own. The first is the recorded side of a comparison, the second the live
// side.
type Comparer struct {
	rules  Rules        // for keys
	places Rules        // for the places of two messages that differ
	made   [3]Variables // by direction; the known values are shared
}

// NewComparer returns a comparer that knows no variables. said yields the recorded frames of a
// direction by Seq; it is called when values first differ, and may leave out frames that are
// equal in both recordings. Clocks are the times of the two recordings.
func NewComparer(rules Rules, said func(transport.Direction) iter.Seq2[int, transport.Frame], clocks ...Clock) *Comparer {
	c := &Comparer{rules: rules, places: rules}
	known := NewVariables(nil)
	for _, dir := range [...]transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		v := *known
		v.bothRecorded = true
		if said != nil {
			v.recurrences = &recurrence{said: said(dir.Reverse())}
		}
		c.made[dir] = v
	}
	if n, ok := clockNormalizer(clocks); ok && rules.By != Strict {
		c.places.Normalize = append(slices.Clone(rules.Normalize), n)
	}
	return c
}

// Learn learns variables from two messages of direction dir that stand for each other. seq is
// the recorded message's. The calls must come in recorded order.
func (c *Comparer) Learn(dir transport.Direction, seq uint64, recorded, live transport.Message) {
	if dir != transport.NoDirection {
		c.made[dir].Learn(recorded, live, int(seq))
	}
}

// Compare compares two messages of one kind and method, which are about a call.
func (c *Comparer) Compare(dir transport.Direction, about Call, recorded, live transport.Message) Comparison {
	return c.comparison(walk{rules: c.placesOf(recorded).ForCall(about), variables: &c.made[dir]}, recorded, live)
}

// Count is Compare without the list of differences, which is slow to write well.
func (c *Comparer) Count(dir transport.Direction, about Call, recorded, live transport.Message) Comparison {
	return c.comparison(walk{rules: c.placesOf(recorded).ForCall(about), variables: &c.made[dir], terse: true}, recorded, live)
}

func (c *Comparer) comparison(w walk, recorded, live transport.Message) Comparison {
	rules := w.rules
	w.compareParts(recorded, live)
	if recorded.Kind() == transport.Request && !MatchedByMethod(recorded.Method) && (rules.By == ByMethod || rules.By == ByOrder) {
		return w.AsMapped(rules.By.String())
	}
	return w.Comparison
}

// placesOf returns the rules for a message. Two recordings of a client introduce it alike.
func (c *Comparer) placesOf(message transport.Message) Rules {
	rules := c.places
	if message.Method == mcp.MethodInitialize {
		rules.By = Strict
	}
	return rules
}

// Key returns the common Key of a request and of the requests that may stand for the request.
func (c *Comparer) Key(message transport.Message) (Key, error) { return c.rules.Key(message) }

// AppendShape appends the compared parts of a message, in a canonical spelling, with a mark in
// the place of each made-up value: messages of the same shape differ at most in Variables.
func (c *Comparer) AppendShape(data []byte, message transport.Message) []byte {
	return appendParts(keyWriter{rules: c.placesOf(message).For(message), b: data, shape: true}, message)
}

// AppendContent appends the parts of a message that are compared, in a canonical spelling, whatever
// places the rules ignore.
func (c *Comparer) AppendContent(data []byte, message transport.Message) []byte {
	return appendParts(keyWriter{rules: Rules{By: c.placesOf(message).By}, b: data}, message)
}

func appendParts(w keyWriter, message transport.Message) []byte {
	w.b = append(w.b, message.Method...)
	for _, part := range partsOf(message) {
		w.b = append(w.b, ' ')
		if len(part.raw) == 0 && (part.name != "params" || message.Method == "") {
			continue
		}
		n, err := parseTree(part.raw)
		switch {
		case err != nil: // too deep
			w.b = append(w.b, part.raw...)
			continue
		case part.name == "params":
			n = w.rules.paramsOf(message, n)
		default:
			n = withoutSubscription(n)
		}
		w.path = append(w.path[:0], part.name)
		w.write(n)
	}
	return w.b
}

type messagePart struct {
	name string
	raw  []byte
}

func partsOf(message transport.Message) [3]messagePart {
	return [...]messagePart{{"params", message.Params}, {"result", message.Result}, {"error", message.Error}}
}

// Scalars calls each with the strings, numbers and literals of a message, each behind its place,
// besides those in _meta.
func Scalars(message transport.Message, each func([]byte)) {
	var visit func(place []byte, n tree)
	visit = func(place []byte, n tree) {
		for i, kid := range n.kids {
			step := strconv.Itoa(i)
			if n.kind == '{' {
				step = n.keys[i]
			}
			if n.kind != '{' || step != mcp.MemberMeta {
				visit(append(append(place, 0), step...), kid)
			}
		}
		if n.isScalar() {
			w := keyWriter{b: append(place, 0)}
			w.write(n)
			each(w.b)
		}
	}
	for _, part := range partsOf(message) {
		if n, err := parseTree(part.raw); len(part.raw) > 0 && err == nil {
			visit([]byte(part.name), n)
		}
	}
}
