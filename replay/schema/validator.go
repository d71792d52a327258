package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcprec/mcprec/transport"
)

// Fault is a place of a message that does not fit.
type Fault struct {
	Path   string // a JSON pointer from the message's root; "" is that
	Text   string // what is there and what was wanted
	Reason string // why the schema is wrong there; "" where it is not
}

// Validator has the schemas that were needed so far. The zero value is ready.
type Validator struct {
	sets map[string]*set
}

// Check returns what does not fit in a message. The method is that of its request if it
// is a response; "" where that is not known. It returns nothing of a revision that has
// no schema here.
func (v *Validator) Check(revision string, m *transport.Message, method string) ([]Fault, error) {
	s, known := v.sets[revision]
	if !known {
		var err error
		if s, err = readSet(revision); err != nil {
			return nil, err
		}
		if v.sets == nil {
			v.sets = map[string]*set{}
		}
		v.sets[revision] = s
	}
	if s == nil {
		return nil, nil
	}
	return s.check(m, method), nil
}

func (s *set) check(m *transport.Message, method string) []Fault {
	doc := plain(m.Raw)
	envelope, body := "", ""
	switch m.Kind() {
	case transport.Request:
		envelope, body = "JSONRPCRequest", s.methods[m.Method]
	case transport.Notification:
		envelope, body = "JSONRPCNotification", s.methods[m.Method]
	case transport.Response:
		if m.Error != nil {
			return s.faults(s.first("JSONRPCErrorResponse", "JSONRPCError"), doc, "")
		}
		fields, _ := doc.(map[string]any)
		faults := s.faults(s.first("JSONRPCResultResponse", "JSONRPCResponse"), doc, "")
		if method != "" {
			faults = append(faults, s.faults(s.resultOf(method, fields["result"]), fields["result"], "/result")...)
		}
		return distinct(faults)
	default:
		return nil // no message
	}
	return distinct(append(s.faults(envelope, doc, ""), s.faults(body, doc, "")...))
}

// distinct orders faults by their place, each once.
func distinct(faults []Fault) []Fault {
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(faults)
}

// faults holds a value to a definition; at is where in the message it stands.
func (s *set) faults(definition string, value any, at string) []Fault {
	d := s.definition(definition)
	if d == nil {
		return nil
	}
	failed, _ := d.Validate(value).(*jsonschema.ValidationError)
	if failed == nil {
		return nil
	}
	var list []Fault
	for _, leaf := range leaves(failed) {
		path := at + pointer(leaf.InstanceLocation)
		list = append(list, Fault{path, said(leaf), flaw(leaf, definition, path)})
	}
	return list
}

// leaves are the innermost failures; of several forms, those of the one that the value
// seems to be.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return seeming(e)
	}
	var list []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		list = append(list, leaves(cause)...)
	}
	return list
}

// seeming returns the failures of the form that a value fits best: whose constants it
// has, then the one that fails deepest, then in the fewest places.
func seeming(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if types := wanted(e); types != nil {
		return []*jsonschema.ValidationError{types}
	}
	var best []*jsonschema.ValidationError
	forms := make([][]*jsonschema.ValidationError, len(e.Causes)) // once: forms may stand in forms
	for i, cause := range e.Causes {
		if forms[i] = leaves(cause); best == nil || worse(best, forms[i]) {
			best = forms[i]
		}
	}
	if other := constants(forms); other != nil && otherwise(best) > 0 {
		return []*jsonschema.ValidationError{other}
	}
	return best
}

// constants joins the constants, all in one place, that tell the forms apart.
func constants(forms [][]*jsonschema.ValidationError) *jsonschema.ValidationError {
	joined := kind.Enum{}
	var at []string
	for _, form := range forms {
		i := slices.IndexFunc(form, isConstant)
		if i < 0 {
			return nil
		}
		leaf := form[i]
		if at != nil && !slices.Equal(at, leaf.InstanceLocation) {
			return nil
		}
		at, joined.Got = leaf.InstanceLocation, leaf.ErrorKind.(*kind.Const).Got
		if want := leaf.ErrorKind.(*kind.Const).Want; !slices.Contains(joined.Want, want) {
			joined.Want = append(joined.Want, want)
		}
	}
	return &jsonschema.ValidationError{InstanceLocation: at, ErrorKind: &joined}
}

func isConstant(e *jsonschema.ValidationError) bool {
	_, ok := e.ErrorKind.(*kind.Const)
	return ok
}

// wanted joins the failures of forms that are plain types: one of them was wanted.
func wanted(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	joined := kind.Type{}
	for _, cause := range e.Causes {
		for len(cause.Causes) == 1 {
			cause = cause.Causes[0]
		}
		t, ok := cause.ErrorKind.(*kind.Type)
		if !ok || len(cause.Causes) > 0 || !slices.Equal(cause.InstanceLocation, e.InstanceLocation) {
			return nil
		}
		joined.Got = t.Got
		joined.Want = append(joined.Want, t.Want...)
	}
	slices.Sort(joined.Want)
	joined.Want = slices.Compact(joined.Want)
	return &jsonschema.ValidationError{InstanceLocation: e.InstanceLocation, ErrorKind: &joined}
}

// worse reports whether a form fits less than another.
func worse(a, b []*jsonschema.ValidationError) bool {
	return cmp.Or(cmp.Compare(otherwise(a), otherwise(b)), cmp.Compare(depth(b), depth(a)), cmp.Compare(len(a), len(b))) > 0
}

// otherwise counts constants that a value does not have: it is meant to be another form.
func otherwise(list []*jsonschema.ValidationError) (n int) {
	for _, leaf := range list {
		if isConstant(leaf) {
			n++
		}
	}
	return n
}

func depth(list []*jsonschema.ValidationError) (n int) {
	for _, leaf := range list {
		n = max(n, len(leaf.InstanceLocation))
	}
	return n
}

func pointer(path []string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return b.String()
}

// said is a failure in words, without its place.
func said(e *jsonschema.ValidationError) string {
	bare := jsonschema.ValidationError{ErrorKind: e.ErrorKind}
	return strings.TrimPrefix(bare.Error(), "at '': ")
}
