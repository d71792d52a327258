package clientconfig

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// deepest is how deep lists and tables may stand in each other. The parser of JSON has no limit of
// its own, and would run out of stack.
const deepest = 10000

// parseJSON parses JSON with comments and trailing commas. All offsets are moved by offset.
func parseJSON(doc []byte, offset int) (*node, error) {
	if depthOf(doc) > deepest {
		return nil, fmt.Errorf("it is nested more than %d levels deep", deepest)
	}
	// The parser wants a line end after a comment.
	root, err := hujson.Parse(append(slices.Clip(doc), '\n'))
	if err != nil {
		var line, column int
		if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n == 2 {
			return nil, fmt.Errorf("it is not JSON: see line %d, column %d", line, column)
		}
		return nil, fmt.Errorf("it is not JSON")
	}
	return nodeOfJSON(&root, offset), nil
}

func nodeOfJSON(v *hujson.Value, offset int) *node {
	n := &node{span: span{v.StartOffset + offset, v.EndOffset + offset}}
	switch x := v.Value.(type) {
	case hujson.Literal:
		if x.Kind() == '"' {
			n.kind = text
			n.text = x.String()
		}
	case *hujson.Array:
		n.kind = list
		for i := range x.Elements {
			n.items = append(n.items, nodeOfJSON(&x.Elements[i], offset))
		}
	case *hujson.Object:
		n.kind = table
		for i := range x.Members {
			key := &x.Members[i].Name
			name, _ := key.Value.(hujson.Literal) // always: the parser takes nothing else
			n.members = append(n.members, member{
				name: name.String(), key: span{key.StartOffset + offset, key.EndOffset + offset}, last: key.StartOffset + offset,
				value: nodeOfJSON(&x.Members[i].Value, offset),
			})
		}
	}
	return n
}

// depthOf returns how deep brackets stand in each other, outside of strings and comments.
func depthOf(doc []byte) (most int) {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '/':
			end := "\n"
			if bytes.HasPrefix(doc[i:], []byte("/*")) {
				end = "*/"
				i += 2
			}
			length := bytes.Index(doc[i:], []byte(end))
			if length < 0 {
				return most
			}
			i += length + len(end) - 1
		}
	}
	return most
}
