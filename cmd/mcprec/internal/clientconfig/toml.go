package clientconfig

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML parses TOML. All offsets are moved by offset.
func parseTOML(doc []byte, offset int) (*node, error) {
	// The parser below reads the syntax; doubled keys and tables are found here.
	var whole map[string]any
	err := toml.Unmarshal(doc, &whole)
	var fault *toml.DecodeError
	switch {
	case errors.As(err, &fault):
		line, column := fault.Position()
		return nil, fmt.Errorf("it is not TOML: see line %d, column %d", line, column)
	case err != nil:
		return nil, errors.New("it is not TOML")
	}
	p := tomlParser{doc: bytes.Clone(doc), offset: offset} // the parser counts by the capacity
	p.Reset(p.doc)
	root := &node{kind: table}
	current := root
	for p.NextExpression() {
		expression := p.Expression()
		switch expression.Kind {
		case unstable.Table:
			current = root.descend(keysOf(expression))
		case unstable.ArrayTable:
			names := keysOf(expression)
			parent := root.descend(names[:len(names)-1])
			current = parent.addTable(names[len(names)-1])
		case unstable.KeyValue:
			p.add(current, expression, true)
		}
	}
	if p.Error() != nil {
		return nil, errors.New("it is not TOML")
	}
	return root, nil
}

// tomlParser makes nodes of expressions.
type tomlParser struct {
	unstable.Parser
	doc    []byte
	offset int
}

// add adds a key with its value to a table; dotted keys make tables between.
func (p *tomlParser) add(to *node, expression *unstable.Node, line bool) {
	names := keysOf(expression)
	to = to.descend(names[:len(names)-1])
	var last unstable.Range
	for keys := expression.Key(); keys.Next(); {
		last = keys.Node().Raw
	}
	keyEnd := int(last.Offset + last.Length)
	equals := keyEnd + bytes.IndexByte(p.doc[keyEnd:], '=') // only blanks stand between
	blanks := len(p.doc[equals+1:]) - len(bytes.TrimLeft(p.doc[equals+1:], " \t"))
	to.members = append(to.members, member{
		name: names[len(names)-1], line: line,
		key: span{int(expression.Raw.Offset) + p.offset, keyEnd + p.offset}, last: int(last.Offset) + p.offset,
		value: p.value(expression.Value(), span{equals + 1 + blanks, int(expression.Raw.Offset + expression.Raw.Length)}),
	})
}

// value returns the node of a value. The parser says of strings alone where they stand.
func (p *tomlParser) value(v *unstable.Node, at span) *node {
	n := &node{span: span{at.from + p.offset, at.to + p.offset}}
	switch v.Kind {
	case unstable.String:
		n.kind = text
		n.text = string(v.Data)
	case unstable.Array:
		n.kind = list
		for items := v.Children(); items.Next(); {
			raw := items.Node().Raw
			n.items = append(n.items, p.value(items.Node(), span{int(raw.Offset), int(raw.Offset + raw.Length)}))
		}
	case unstable.InlineTable:
		n.kind = table
		for members := v.Children(); members.Next(); {
			p.add(n, members.Node(), false)
		}
	}
	return n
}

// keysOf returns the names of a key, of which there is one at least.
func keysOf(expression *unstable.Node) (names []string) {
	for keys := expression.Key(); keys.Next(); {
		names = append(names, string(keys.Node().Data))
	}
	return names
}

// descend returns the table below some keys. Of a list of tables it is the last.
func (n *node) descend(names []string) *node {
	for _, name := range names {
		found := n.named(name)
		if len(found) == 0 {
			n.members = append(n.members, member{name: name, value: &node{kind: table}})
			found = n.named(name)
		}
		n = found[0].value
		if n.kind == list && len(n.items) > 0 {
			n = n.items[len(n.items)-1]
		}
	}
	return n
}

// addTable adds a table to the list of tables of a name, and returns the table.
func (n *node) addTable(name string) *node {
	if len(n.named(name)) == 0 {
		n.members = append(n.members, member{name: name, value: &node{kind: list}})
	}
	tables := n.named(name)[0].value
	item := &node{kind: table}
	tables.items = append(tables.items, item)
	return item
}
