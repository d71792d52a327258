package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// InstalledPath returns the path of this program as it was called, which may be a link that is kept
// when the program is replaced by a newer one.
func InstalledPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if called, err := exec.LookPath(os.Args[0]); err == nil {
		called, err := filepath.Abs(called)
		a, faultA := os.Stat(called)
		b, faultB := os.Stat(self)
		if errors.Join(err, faultA, faultB) == nil && os.SameFile(a, b) {
			self = called
		}
	}
	caches := []string{"go-build", "_npx", "dlx", "bunx-"} // of go run, npx, pnpm dlx, bunx
	for _, step := range strings.Split(filepath.ToSlash(self), "/") {
		if slices.ContainsFunc(caches, func(cache string) bool { return strings.HasPrefix(step, cache) }) {
			return "", Usagef("this mcprec is %s, which goes away again; install it, and run it from there", self)
		}
	}
	return self, nil
}
