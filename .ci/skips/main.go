// Command skips reads what go test -json writes and prints what failed. It fails where a
// test failed, and where one was skipped that is not in a list:
//
//	skips LIST... <EVENTS
//
// A line of a list is the package's path in the module, the test's name and the reason.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	allowed, err := readLists(os.Args[1:])
	if err == nil {
		err = report(os.Stdin, os.Stdout, allowed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

// readLists returns the reasons for the skips that are allowed, by package and test.
func readLists(paths []string) (map[string]string, error) {
	allowed := map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			words := strings.SplitN(line, " ", 3)
			if len(words) < 3 {
				return nil, fmt.Errorf("%s: %q has no reason: write PACKAGE TEST REASON", path, line)
			}
			allowed[words[0]+" "+words[1]] = words[2]
		}
	}
	return allowed, nil
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// name is the package's path in the module and the test's name.
func (e event) name() string {
	return strings.TrimPrefix(e.Package, "github.com/mcprec/mcprec/") + " " + e.Test
}

// report prints the output of what failed and a line for each package, and returns an
// error if something failed or was skipped that is not allowed.
func report(in io.Reader, out io.Writer, allowed map[string]string) error {
	said := map[string]string{} // by test
	failed, packages, unexpected := 0, 0, 0
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line == "" {
			break
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(out, line) // of make, or of a go command that failed
			continue
		}
		switch e.Action {
		case "output":
			said[e.name()] += e.Output
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "fail", "build-fail":
			failed++
			fmt.Fprint(out, said[e.name()])
		case "pass":
			if e.Test == "" {
				packages++
				fmt.Fprint(out, strings.TrimPrefix(said[e.name()], "PASS\n"))
			}
		case "skip":
			if e.Test != "" && allowed[e.name()] == "" {
				unexpected++
				fmt.Fprintf(out, "%s: skipped, and not in the list of skips\n%s", e.name(), said[e.name()])
			}
		}
		if err != nil {
			break
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d tests and packages failed", failed)
	case unexpected > 0:
		return fmt.Errorf("%d tests were skipped that are not in the list; run them, or add them to .ci with the reason", unexpected)
	case packages == 0:
		return fmt.Errorf("no package was tested")
	}
	return nil
}
