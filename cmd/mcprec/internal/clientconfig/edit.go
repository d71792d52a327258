package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
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
	edited, originals, err := wrapEach(doc, []Server{{Location: at, Name: name}}, func(*Server) []string { return front })
	if err != nil {
		return nil, Original{}, errors.Unwrap(err)
	}
	return edited, originals[0], nil
}

// wrapEach wraps servers of a document, which it reads once before and once after. Its errors wrap those of a server.
func wrapEach(doc []byte, servers []Server, front func(*Server) []string) (edited []byte, originals []Original, err error) {
	found, err := findEach(doc, servers)
	if err != nil {
		return nil, nil, err
	}
	var splices []splice
	commands := make([][]string, len(servers))
	for i, server := range found {
		words := front(&servers[i])
		switch {
		case server.State == Odd:
			err = errors.New(server.Problem)
		case server.State != Direct:
			err = fmt.Errorf("it is %s", server.State)
		case !utf8.ValidString(strings.Join(words, "")):
			err = fmt.Errorf("%q is not UTF-8, as the file must be", words)
		}
		if err != nil {
			return nil, nil, servers[i].fault(err)
		}
		splices = append(splices, server.wrapping(doc, words)...)
		commands[i] = slices.Concat(words, server.Command)
	}
	edited = spliced(doc, splices)
	now, err := expectEach(edited, servers, commands)
	if err != nil {
		return nil, nil, err
	}
	for i, server := range found {
		originals = append(originals, Original{servers[i].Location, servers[i].Name, server.parts(doc), now[i].parts(edited)})
	}
	return edited, originals, nil
}

// Unwrapping says how an entry was unwrapped.
type Unwrapping int

// The ways to unwrap an entry.
const (
	Exact    Unwrapping = iota // it was as wrap left it, and has its old bytes again
	Cut                        // it was edited since: the words of mcprec record are taken out
	Replaced                   // its program was replaced since, and the new one stays
	Unknown                    // nothing was kept of it: the words of mcprec record are taken out
)

// Unwrap takes the recorder out of the command of a server. was is the original of the entry; nil if
// nothing was kept.
func Unwrap(doc []byte, at Location, name string, was *Original) (edited []byte, how Unwrapping, err error) {
	edited, ways, err := unwrapEach(doc, []Server{{Location: at, Name: name}}, []*Original{was})
	if err != nil {
		return nil, Cut, errors.Unwrap(err)
	}
	return edited, ways[0], nil
}

// unwrapEach unwraps servers of a document, as wrapEach wraps them.
func unwrapEach(doc []byte, servers []Server, were []*Original) (edited []byte, ways []Unwrapping, err error) {
	found, err := findEach(doc, servers)
	if err != nil {
		return nil, nil, err
	}
	var splices []splice
	commands := make([][]string, len(servers))
	for i, server := range found {
		if server.State == Odd {
			return nil, nil, servers[i].fault(errors.New(server.Problem))
		}
		recorded := server.Recorded()
		if recorded == nil || server.State == Direct {
			return nil, nil, servers[i].fault(errors.New("its command is not mcprec record -- COMMAND"))
		}
		how := Cut
		switch was := were[i]; {
		case was == nil:
			how = Unknown
		case server.parts(doc).equal(was.Now):
			how = Exact
		case server.isReplaced(was):
			how = Replaced
			recorded = slices.Concat(server.Command[:1], recorded[1:])
		}
		if how == Exact {
			splices = append(splices, server.restoring(doc, were[i].Was)...)
		} else {
			splices = append(splices, server.unwrapping(doc, were[i], how == Replaced)...)
		}
		commands[i] = recorded
		ways = append(ways, how)
	}
	edited = spliced(doc, splices)
	_, err = expectEach(edited, servers, commands)
	return edited, ways, err
}

// isReplaced reports whether the program of an entry is neither the one that wrap wrote there nor mcprec,
// which may stand elsewhere by now.
func (s *Server) isReplaced(was *Original) bool {
	var wrote string // the first word of a list, or the only one
	err := json.NewDecoder(strings.NewReader(strings.TrimPrefix(was.Now.Command, "["))).Decode(&wrote)
	return err == nil && s.Command[0] != wrote && !cli.IsMcprec(s.Command[0])
}

// fault is an error about a server of a file.
func (s *Server) fault(err error) error { return fmt.Errorf("%s, server %q: %w", s.File, s.Name, err) }

// place names an entry of a file.
type place struct{ file, keys, name string }

func (l Location) place(name string) place { return place{l.File, strings.Join(l.Keys, "\x00"), name} }

// findEach returns the servers of a document that have the places and the names of some; all must be there.
func findEach(doc []byte, servers []Server) ([]*Server, error) {
	found, faults := findSome(doc, servers)
	for i, err := range faults {
		if err != nil {
			return nil, servers[i].fault(err)
		}
	}
	return found, nil
}

// findSome is findEach where servers may be missing: faults says why.
func findSome(doc []byte, servers []Server) (found []*Server, faults []error) {
	found, faults = make([]*Server, len(servers)), make([]error, len(servers))
	there := map[place]*Server{}
	sections := map[string]error{} // those that were read, by their keys
	var root *node
	for i := range servers {
		s := &servers[i]
		if root == nil {
			if root, faults[i] = parse(doc, formatOf(s.File)); faults[i] != nil {
				return found, slices.Repeat(faults[:1], len(servers))
			}
		}
		at := s.place(s.Name)
		if _, isRead := sections[at.keys]; !isRead {
			list, err := serversIn(root, s.Location)
			sections[at.keys] = err
			for j := range list {
				if key := list[j].place(list[j].Name); there[key] == nil {
					there[key] = &list[j]
				}
			}
		}
		found[i] = there[at]
		if faults[i] = sections[at.keys]; found[i] == nil && faults[i] == nil {
			faults[i] = errors.New("it is not there any more")
		}
	}
	return found, faults
}

// expectEach returns the servers of an edited document, which must have their command lines. It holds that an
// edit of a form nobody has thought of is never written.
func expectEach(edited []byte, servers []Server, commands [][]string) ([]*Server, error) {
	const odd = "its entry has a form that mcprec cannot edit: with the edit %w"
	found, err := findEach(edited, servers)
	if err != nil {
		return nil, servers[0].fault(fmt.Errorf(odd, err))
	}
	for i, server := range found {
		if !slices.Equal(server.Command, commands[i]) {
			return nil, servers[i].fault(fmt.Errorf(odd, errors.New("its command would be another")))
		}
	}
	return found, nil
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
// edited since, or of which nothing was kept. With keep the program stays, instead of the one behind them.
func (s *Server) unwrapping(doc []byte, was *Original, keep bool) []splice {
	after := commandAt(s.Command)
	if command := s.command.value; command.kind == list {
		if keep {
			return []splice{{span{command.items[0].to, command.items[after].to}, ""}}
		}
		return []splice{command.removeFirst(doc, after)}
	}
	args := s.args.value // which begin with the second word of the command line
	var splices []splice
	if !keep {
		splices = append(splices, splice{s.command.value.span, args.items[after-1].of(doc)})
	}
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
