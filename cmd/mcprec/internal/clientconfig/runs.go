package clientconfig

import (
	"path/filepath"
	"slices"
	"strings"
)

// Runs reports whether a process with this command line runs the command of a server: as it stands there, below the
// interpreter of a script, or as npx names the process that it has become.
func (s *Server) Runs(command []string) bool {
	words := s.Command
	if recorded := s.Recorded(); recorded != nil {
		words = recorded
	}
	if len(words) == 0 || len(command) == 0 {
		return false
	}
	isProgram := func(word string) bool {
		return word == words[0] || !strings.ContainsAny(words[0], `/\`) && filepath.Base(word) == words[0]
	}
	for _, from := range []int{0, 1} { // 1: of a script, behind its interpreter
		if len(command) == from+len(words) && isProgram(command[from]) && slices.Equal(command[from+1:], words[1:]) {
			return true
		}
	}
	return filepath.Base(words[0]) == "npx" && isOfNPX(command, words[1:])
}

// isOfNPX reports whether a command line is what npx makes of its own: "npm exec PACKAGE ARG...", without its flags.
func isOfNPX(command, words []string) bool {
	rest, found := strings.CutPrefix(strings.Join(command, " "), "npm exec ")
	if !found {
		return false
	}
	for len(words) > 0 && (words[0] == "-y" || words[0] == "--yes" || words[0] == "--quiet" || words[0] == "-q") {
		words = words[1:]
	}
	wanted := strings.Join(words, " ")
	return wanted != "" && strings.TrimRight(rest, " ") == wanted
}
