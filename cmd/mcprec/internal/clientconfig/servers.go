package clientconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// State says whether a server is recorded.
type State string

// The states of a server.
const (
	Direct  State = "direct"      // the client starts the server itself
	Wrapped State = "wrapped"     // mcprec wrap has put a recorder in front
	ByHand  State = "by hand"     // a recorder stands in front that wrap did not write
	Remote  State = "remote"      // it has a URL, and no command
	Odd     State = "cannot edit" // it cannot be edited; Problem says why
)

// Server is a server in a client's configuration.
type Server struct {
	Location
	Name    string
	State   State
	Command []string // the command line, as the client runs it
	URL     string   // of a remote server
	Problem string   // why an odd server cannot be edited
	ByRules bool     // the file has rules about commands, which may not fit a wrapped one
	OwnHome bool     // its environment names a store
	Path    string   // the PATH in its environment, or ""

	entry   *node   // the members of which command and args are
	command *member // a text, or a list that is the whole command line
	args    *member // nil where there are none
}

// Recorded returns the command line behind a recorder: what mcprec record starts.
func (s *Server) Recorded() []string {
	if at := commandAt(s.Command); at > 0 {
		return s.Command[at:]
	}
	return nil
}

// Store returns the folder of the store that a recorder in front names, or "".
func (s *Server) Store() string {
	words := s.Command[:commandAt(s.Command)]
	at := slices.Index(words, "--store")
	if at < 0 {
		return ""
	}
	return words[at+1]
}

// IsOwn reports whether a server is that of mcprec mcp, which answers from the recordings, and is not
// recorded.
func (s *Server) IsOwn() bool {
	return s.State == Direct && cli.ServesAgents(s.Command)
}

// Find returns the servers of a location in a document. There are none if the document has not the
// keys.
func Find(doc []byte, at Location) ([]Server, error) {
	root, err := parse(doc, formatOf(at.File))
	if err != nil {
		return nil, err
	}
	return serversIn(root, at)
}

func serversIn(root *node, at Location) (servers []Server, err error) {
	section := root
	for _, key := range at.Keys {
		found, err := section.only(key)
		if err != nil {
			return nil, fmt.Errorf("%w; leave one of them", err)
		}
		if found == nil {
			return nil, nil
		}
		section = found.value
	}
	if section.kind != table && section.kind != list {
		return nil, fmt.Errorf("the value of %s is not of the type that has servers", strings.Join(at.Keys, "."))
	}
	add := func(name string, entry *node) {
		server := Server{Location: at, Name: name}
		server.read(entry)
		if server.State != "" {
			servers = append(servers, server)
		}
	}
	for _, m := range section.members {
		add(m.name, m.value)
	}
	for _, entry := range section.items { // as Mistral Vibe has them
		if name := entry.named("name"); len(name) == 1 && name[0].value.kind == text {
			add(name[0].value.text, entry)
		}
	}
	counts := map[string]int{}
	for i := range servers {
		counts[servers[i].Name]++
	}
	rules := rulesOf(at.Client)
	for i := range servers {
		s := &servers[i]
		if counts[s.Name] > 1 {
			s.State = Odd
			s.Problem = fmt.Sprintf("%d servers have this name", counts[s.Name])
		}
		if s.State == Direct && strings.Contains(s.Name+strings.Join(s.Command, ""), "\x00") {
			s.State = Odd
			s.Problem = "it has a zero byte, which no command line can hold"
		}
		s.ByRules = rules != "" && len(root.named(rules)) > 0
	}
	return servers, nil
}

// rulesOf returns the key of a client's rules about commands.
func rulesOf(client string) string {
	for _, c := range Clients() {
		if c.Name == client {
			return c.Rules
		}
	}
	return ""
}

// read reads an entry. What is neither a command nor a URL is no server, and has no state.
func (s *Server) read(entry *node) {
	if entry.kind != table {
		return
	}
	for _, name := range []string{"env", "environment", "envs"} {
		for _, m := range entry.named(name) {
			s.OwnHome = s.OwnHome || len(m.value.named("MCPREC_HOME")) > 0
			for _, path := range m.value.named("PATH") {
				s.Path = path.value.text
			}
		}
	}
	err := s.readCommand(entry)
	switch {
	case err != nil:
		s.State = Odd
		s.Problem = err.Error()
	case s.command != nil:
		s.State = stateOf(s.Command)
	default:
		for _, name := range []string{"url", "serverUrl", "httpUrl"} {
			for _, m := range entry.named(name) {
				s.State = Remote
				s.URL = m.value.text
			}
		}
	}
}

// readCommand finds the command line of an entry.
func (s *Server) readCommand(entry *node) (err error) {
	s.entry = entry
	if s.command, err = entry.only("command"); err != nil || s.command == nil {
		return err
	}
	program := "command"
	if s.command.value.kind == table { // as Zed had it until 2025
		s.entry = s.command.value
		program = "path"
		if s.command, err = s.entry.only(program); err != nil {
			return err
		}
		if s.command == nil {
			return errors.New("its command has no path")
		}
	}
	if s.args, err = s.entry.only("args"); err != nil {
		return err
	}
	value := s.command.value
	switch {
	case value.kind == text && value.text != "":
		s.Command = []string{value.text}
	case value.kind == list && len(value.items) > 0 && (s.args == nil || len(s.args.value.items) == 0):
		return s.readWords(program, value)
	default:
		return fmt.Errorf("its %s is not a command", program)
	}
	if s.args == nil {
		return nil
	}
	return s.readWords("args", s.args.value)
}

// readWords adds the words of a list to the command line.
func (s *Server) readWords(name string, words *node) error {
	if words.kind != list {
		return fmt.Errorf("its %s is not a list", name)
	}
	for _, item := range words.items {
		if item.kind != text {
			return fmt.Errorf("its %s has something that is not a string", name)
		}
		s.Command = append(s.Command, item.text)
	}
	return nil
}

// stateOf tells a recorder's command line from another. What wrap has written is known by its
// labels, wherever that mcprec stood and whatever its file's name was.
func stateOf(command []string) State {
	if len(command) < 2 || command[1] != "record" {
		return Direct
	}
	hasLabel := func(name string) bool {
		return slices.ContainsFunc(command[:commandAt(command)], func(word string) bool { return strings.HasPrefix(word, name+"=") })
	}
	if hasLabel("client") && hasLabel("server") {
		return Wrapped
	}
	if cli.IsMcprec(command[0]) {
		return ByHand
	}
	return Direct
}

// commandAt returns the index of the first word of COMMAND in a command line such as mcprec record -l client=cursor
// COMMAND, with the flags that wrap writes, or with any flags and «--»; 0 for any other.
func commandAt(command []string) int {
	if len(command) < 2 || command[1] != "record" {
		return 0
	}
	for i := 2; i < len(command); {
		switch word := command[i]; {
		case word == "-l" || word == "--store":
			i += 2
		case strings.HasPrefix(word, "-"):
			dashes := slices.Index(command, "--")
			if dashes < i || dashes == len(command)-1 {
				return 0
			}
			return dashes + 1
		case i == 2: // a line without flags is nobody's
			return 0
		default:
			return i
		}
	}
	return 0
}
