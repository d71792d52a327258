// Command table runs the bug collection of package zoo and prints it as a table, to
// be called from the top of the repository:
//
//	go run ./examples/zoo/table [-run REGEXP] [-v] [MODULE...]
//
// Without modules it runs all. -run and -v are those of go test.
//
// # Data layout
//
// A line is one bug: what exploring the release with it gave, after how many
// schedules, and what the one without it gave; "-" where there is none. That is the
// release of the module's fixed.mod or, where no release is without the bugs, the
// release of its go.mod with the patches that its fixed.txt names. A module with a
// fixed.json names releases of npm packages there. The text is
// the same on every run. Modules run one after the other; the lines of one come when
// both of its releases are done. The exit status is 1 unless every line ends in yes.
//
// What the tests of a module print is shown, on the standard error, when they fail.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/mcprec/mcprec/examples/zoo"
)

var (
	runFlag = flag.String("run", "", "run the tests whose names match this `REGEXP`, as go test does")
	verbose = flag.Bool("v", false, "show the reports")
)

func main() {
	flag.Parse()
	dirs, err := filepath.Glob("examples/zoo/*/go.mod")
	if err != nil || len(dirs) == 0 {
		fmt.Fprintln(os.Stderr, "table: no modules at examples/zoo; run it at the top of the repository")
		os.Exit(2)
	}
	if flag.NArg() > 0 {
		dirs = slices.DeleteFunc(dirs, func(path string) bool {
			return !slices.Contains(flag.Args(), filepath.Base(filepath.Dir(path)))
		})
	}
	out := os.Stdout
	printCells(out, "bug", "at", "verdict", "orders", "and at", "verdict", "expected")
	bad := 0
	for _, path := range dirs {
		n, err := printModule(out, filepath.Dir(path))
		if err != nil {
			fmt.Fprintf(os.Stderr, "table: %v\n", err)
			n++
		}
		bad += n
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// printModule runs a module at its releases and prints its lines. It returns how
// many of them are not as expected.
func printModule(out io.Writer, dir string) (bad int, err error) {
	buggy, failed := run(dir, "go.mod", "go")
	var fixed []zoo.Row
	modfile, err := withoutBugs(dir)
	if err != nil {
		return 0, errors.Join(failed, err)
	}
	if modfile != "" {
		fixed, err = run(dir, modfile, "fixed")
		failed = errors.Join(failed, err)
	}
	for _, line := range join(buggy, fixed, modfile != "") {
		line.print(out)
		if !line.expected() {
			bad++
		}
	}
	return bad, failed
}

// withoutBugs returns the go.mod of the release without the bugs, or "" if there is none.
func withoutBugs(dir string) (modfile string, err error) {
	if _, err := os.Stat(filepath.Join(dir, "fixed.mod")); err == nil {
		return "fixed.mod", nil
	}
	if _, err := os.Stat(filepath.Join(dir, "fixed.txt")); err == nil {
		return patched(dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "fixed.json")); err == nil {
		return "go.mod", nil // its tests install other packages with the tag fixed
	}
	return "", nil
}

// run tests a module at one release and returns the rows of its cases.
func run(dir, modfile, tag string) ([]zoo.Row, error) {
	tmp, err := os.MkdirTemp("", "zoo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	rows := filepath.Join(tmp, "rows")
	cmd := exec.Command("go", "test", "-count=1", "-timeout=5m", "-modfile="+modfile, "-tags="+tag, "-run="+*runFlag, fmt.Sprintf("-v=%t", *verbose))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), zoo.RowsVariable+"="+rows)
	said, err := cmd.CombinedOutput()
	if err != nil || *verbose {
		os.Stderr.Write(said)
	}
	if err != nil {
		failed := fmt.Errorf("test %s with %s: %w", dir, modfile, err)
		found, err := read(rows)
		return found, errors.Join(failed, err)
	}
	return read(rows)
}

// read reads a file of rows. Without the file there are none: every test was skipped.
func read(path string) (rows []zoo.Row, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var r zoo.Row
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		rows = append(rows, r)
	}
}
