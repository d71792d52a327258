package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// kind is what a value of a document is, as far as servers are described by it.
type kind int

const (
	other kind = iota // a number, true, null, a date
	text
	list
	table
)

// span is a range of bytes of a document.
type span struct{ from, to int }

func (s span) of(doc []byte) string { return string(doc[s.from:s.to]) }

// node is a value of a document.
type node struct {
	span    // zero for a table of TOML that headers or dotted keys make
	kind    kind
	text    string  // of a text, decoded
	items   []*node // of a list
	members []member
}

// member is a key of a table with its value.
type member struct {
	name  string
	key   span // as it is written, with the dotted keys before the last
	last  int  // where the last of the dotted keys begins
	line  bool // on a line of its own, as in a table of TOML
	value *node
}

// named returns the members of a name: more than one if the key is doubled.
func (n *node) named(name string) (found []*member) {
	for i := range n.members {
		if n.members[i].name == name {
			found = append(found, &n.members[i])
		}
	}
	return found
}

// only returns the member of a name, or nil. It is an error if the key is doubled.
func (n *node) only(name string) (*member, error) {
	found := n.named(name)
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("the key %q stands %d times", name, len(found))
}

// byteOrderMark may stand before a document in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// errEncoding is the error of a document in another encoding.
var errEncoding = errors.New("it is not UTF-8")

// parse parses a document. An empty one is an empty table. Errors never quote the document, which
// may have secrets.
func parse(doc []byte, format format) (*node, error) {
	if !utf8.Valid(doc) {
		return nil, errEncoding
	}
	body := bytes.TrimPrefix(doc, byteOrderMark)
	offset := len(doc) - len(body)
	if len(bytes.TrimSpace(body)) == 0 {
		return &node{kind: table}, nil
	}
	if format == formatTOML {
		return parseTOML(body, offset)
	}
	return parseJSON(body, offset)
}
