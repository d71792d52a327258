package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Parts are the bytes of an entry that wrap replaces, as they are written.
type Parts struct {
	Command string  `json:"command"`
	Args    *string `json:"args,omitempty"` // nil where there were no arguments
}

// Original is what stood in the place of an edit, and what stands there now.
type Original struct {
	Location
	Name string `json:"name"`
	Was  Parts  `json:"was"`
	Now  Parts  `json:"now"`
}

// of reports whether an original is that of a server.
func (o *Original) of(at Location, name string) bool { return o.same(at) && o.Name == name }

// splice replaces a range of bytes by a text.
type splice struct {
	span
	text string
}

// spliced returns a document with some splices, which do not overlap.
func spliced(doc []byte, splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	var edited []byte
	at := 0
	for _, s := range splices {
		edited = append(append(edited, doc[at:s.from]...), s.text...)
		at = s.to
	}
	return append(edited, doc[at:]...)
}

// Wrap puts the words of front, a program and its arguments, before the command of a server. It
// returns the edited document and what is to be kept for [Unwrap].
func Wrap(doc []byte, at Location, name string, front []string) ([]byte, Original, error) {
	server, err := findOne(doc, at, name)
	if err != nil {
		return nil, Original{}, err
	}
	switch server.State {
	case Direct:
	case Odd:
		return nil, Original{}, errors.New(server.Problem)
	default:
		return nil, Original{}, fmt.Errorf("it is %s", server.State)
	}
	if !utf8.ValidString(strings.Join(front, "")) {
		return nil, Original{}, fmt.Errorf("%q is not UTF-8, as the file must be", front)
	}
	edited := spliced(doc, server.wrapping(doc, front))
	now, err := expect(edited, at, name, slices.Concat(front, server.Command))
	if err != nil {
		return nil, Original{}, err
	}
	return edited, Original{at, name, server.parts(doc), now.parts(edited)}, nil
}

// Unwrap takes the recorder out of the command of a server. With the original of an entry that is
// as wrap left it, the old bytes are put back, and exact is true.
func Unwrap(doc []byte, at Location, name string, was *Original) (edited []byte, exact bool, err error) {
	server, err := findOne(doc, at, name)
	if err != nil {
		return nil, false, err
	}
	if server.State == Odd {
		return nil, false, errors.New(server.Problem)
	}
	recorded := server.Recorded()
	if recorded == nil || server.State == Direct {
		return nil, false, fmt.Errorf("its command is not mcprec record -- COMMAND")
	}
	exact = was != nil && server.parts(doc).equal(was.Now)
	if exact {
		edited = spliced(doc, server.restoring(doc, was.Was))
	} else {
		edited = spliced(doc, server.unwrapping(doc, was))
	}
	_, err = expect(edited, at, name, recorded)
	return edited, exact, err
}

// findOne returns the server of a name.
func findOne(doc []byte, at Location, name string) (*Server, error) {
	servers, err := Find(doc, at)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return nil, errors.New("it is not there any more")
	}
	return &servers[i], nil
}

// expect returns a server of an edited document, which must have a command line. It holds that an
// edit of a form nobody has thought of is never written.
func expect(edited []byte, at Location, name string, command []string) (*Server, error) {
	server, err := findOne(edited, at, name)
	if err == nil && !slices.Equal(server.Command, command) {
		err = errors.New("its command would be another")
	}
	if err != nil {
		return nil, fmt.Errorf("its entry has a form that mcprec cannot edit: with the edit %w", err)
	}
	return server, nil
}

// parts returns the bytes of an entry that an edit replaces.
func (s *Server) parts(doc []byte) Parts {
	parts := Parts{Command: s.command.value.of(doc)}
	if s.args != nil {
		args := s.args.value.of(doc)
		parts.Args = &args
	}
	return parts
}

func (p Parts) equal(other Parts) bool {
	return p.Command == other.Command && (p.Args == nil) == (other.Args == nil) && (p.Args == nil || *p.Args == *other.Args)
}

// wrapping returns the splices that put a recorder in front.
func (s *Server) wrapping(doc []byte, front []string) []splice {
	command := s.command.value
	if command.kind == list {
		return []splice{command.insertFirst(doc, quoted(front))}
	}
	words := quoted(front[1:]) + ", " + command.of(doc)
	program := splice{command.span, quoted(front[:1])}
	if s.args == nil {
		return []splice{s.besideCommand(doc, words), program}
	}
	return []splice{program, s.args.value.insertFirst(doc, words)}
}

// insertFirst returns the splice that puts words at the beginning of a list.
func (n *node) insertFirst(doc []byte, words string) splice {
	at := n.from + 1
	switch {
	case len(n.items) == 0:
	case strings.ContainsRune(" \t\r\n", rune(doc[at])):
		words += ","
	default:
		words += ", "
	}
	return splice{span{at, at}, words}
}

// besideCommand returns the splice that gives an entry a list of arguments beside its command. In a
// table of TOML it stands on the line before, in front of any table below.
func (s *Server) besideCommand(doc []byte, words string) splice {
	command := s.command
	if !command.line {
		at := command.value.to
		name := `"args": `
		if formatOf(s.File) == formatTOML {
			name = "args = "
		}
		return splice{span{at, at}, ", " + name + "[" + words + "]"}
	}
	at := command.key.from
	lineStart := bytes.LastIndexByte(doc[:at], '\n') + 1
	lineEnd := "\n"
	if first := bytes.IndexByte(doc, '\n'); first > 0 && doc[first-1] == '\r' {
		lineEnd = "\r\n"
	}
	indent := string(bytes.TrimPrefix(doc[lineStart:at], byteOrderMark))
	dotted := string(doc[at:command.last])
	return splice{span{at, at}, dotted + "args = [" + words + "]" + lineEnd + indent}
}

// restoring returns the splices that put back what was kept of an entry.
func (s *Server) restoring(doc []byte, was Parts) []splice {
	splices := []splice{{s.command.value.span, was.Command}}
	switch {
	case s.args == nil:
	case was.Args != nil:
		splices = append(splices, splice{s.args.value.span, *was.Args})
	default:
		splices = append(splices, s.withoutArgs(doc))
	}
	return splices
}

// unwrapping returns the splices that take the words of mcprec record out of an entry that was
// edited since, or of which nothing was kept.
func (s *Server) unwrapping(doc []byte, was *Original) []splice {
	after := afterDashes(s.Command)
	if s.command.value.kind == list {
		return []splice{s.command.value.removeFirst(doc, after)}
	}
	args := s.args.value // which begin with the second word of the command line
	splices := []splice{{s.command.value.span, args.items[after-1].of(doc)}}
	switch {
	case after < len(args.items):
		return append(splices, args.removeFirst(doc, after))
	case was != nil && was.Was.Args == nil:
		return append(splices, s.withoutArgs(doc))
	}
	return append(splices, splice{args.span, "[]"})
}

// removeFirst returns the splice that removes some words at the beginning of a longer list. If they
// stand as insertFirst puts them, what stands behind their last comma stays.
func (n *node) removeFirst(doc []byte, count int) splice {
	cut := span{n.items[0].from, n.items[count].from}
	end := n.items[count-1].to
	if cut.from == n.from+1 && doc[end] == ',' {
		cut.to = end + 1
		if doc[end+1] == ' ' && end+2 == n.items[count].from {
			cut.to++
		}
	}
	return splice{cut, ""}
}

// withoutArgs returns the splice that removes the arguments of an entry, with the comma or the line
// that they take. If something else stands between, an empty list is left.
func (s *Server) withoutArgs(doc []byte) splice {
	args := s.args
	if args.line {
		from := bytes.LastIndexByte(doc[:args.key.from], '\n') + 1
		if bytes.HasPrefix(doc[from:], byteOrderMark) {
			from += len(byteOrderMark)
		}
		rest := bytes.TrimLeft(doc[args.value.to:], " \t")
		after := bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte("\r")), []byte("\n"))
		if len(after) < len(rest) || len(rest) == 0 {
			return splice{span{from, len(doc) - len(after)}, ""}
		}
		return splice{args.value.span, "[]"}
	}
	at := slices.IndexFunc(s.entry.members, func(m member) bool { return m.key == args.key })
	cut := span{args.key.from, args.value.to}
	if at > 0 {
		cut.from = s.entry.members[at-1].value.to
	} else if len(s.entry.members) > 1 {
		cut.to = s.entry.members[1].key.from
	}
	between := string(doc[cut.from:args.key.from]) + string(doc[args.value.to:cut.to])
	if strings.Trim(between, " \t\r\n") != "," {
		return splice{args.value.span, "[]"}
	}
	return splice{cut, ""}
}

// quoted returns words as strings of JSON, which are also strings of TOML, with commas between.
func quoted(words []string) string {
	quotes := make([]string, len(words))
	for i, word := range words {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(word) // a string can always be encoded
		quotes[i] = strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
	}
	return strings.Join(quotes, ", ")
}
