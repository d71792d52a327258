package process

import (
	"slices"
	"strings"
)

// IsMcprec reports whether a program has the name of this one, on any system, or is its package of npm.
func IsMcprec(program string) bool {
	name := program[strings.LastIndexAny(program, `/\`)+1:]
	name, _, _ = strings.Cut(name, "@") // the version of a package
	return strings.TrimSuffix(strings.ToLower(name), ".exe") == "mcprec"
}

// ServesAgents reports whether a command line runs mcprec mcp, also below a launcher such as npx, or
// below a shell.
func ServesAgents(command []string) bool {
	words := strings.Fields(strings.Join(command, " ")) // a shell has a whole command in a word
	for at, word := range words {
		words[at] = strings.Trim(word, `"'`)
	}
	at := slices.Index(words, "mcp")
	return at > 0 && IsMcprec(words[at-1])
}
