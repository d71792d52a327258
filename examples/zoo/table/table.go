// Command table runs the bug collection of package zoo and prints it as a table, to
// be called from the top of the repository:
//
//	go run ./examples/zoo/table
//
// # Data layout
//
// A line is one bug: what exploring the release with it gave, after how many
// schedules, and what the one without it gave; "-" where there is none. The text is
// the same on every run. Modules run one after the other; the lines of one come when
// both of its releases are done. The exit status is 1 unless every line ends in yes.
//
// What the tests of a module print is shown, on the standard error, when they fail.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcprec/mcprec/examples/zoo"
)

func main() {
	dirs, err := filepath.Glob("examples/zoo/*/go.mod")
	if err != nil || len(dirs) == 0 {
		fmt.Fprintln(os.Stderr, "table: no modules at examples/zoo; run it at the top of the repository")
		os.Exit(2)
	}
	out := os.Stdout
	printCells(out, "bug", "at", "verdict", "schedules", "and at", "verdict", "expected")
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
	buggy, failed := run(dir, "go.mod")
	var fixed []zoo.Row
	_, err = os.Stat(filepath.Join(dir, "fixed.mod"))
	two := !errors.Is(err, fs.ErrNotExist)
	if two {
		fixed, err = run(dir, "fixed.mod")
		failed = errors.Join(failed, err)
	}
	for _, line := range join(buggy, fixed, two) {
		line.print(out)
		if !line.expected() {
			bad++
		}
	}
	return bad, failed
}

// run tests a module at one release and returns the rows of its cases.
func run(dir, modfile string) ([]zoo.Row, error) {
	tmp, err := os.MkdirTemp("", "zoo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	rows := filepath.Join(tmp, "rows")
	tag := modfile[:len(modfile)-len(".mod")]
	cmd := exec.Command("go", "test", "-count=1", "-timeout=5m", "-modfile="+modfile, "-tags="+tag)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), zoo.RowsVariable+"="+rows)
	if said, err := cmd.CombinedOutput(); err != nil {
		os.Stderr.Write(said)
		failed := fmt.Errorf("test %s with %s: %w", dir, modfile, err)
		found, err := read(rows)
		return found, errors.Join(failed, err)
	}
	return read(rows)
}

// read reads a file of rows.
func read(path string) (rows []zoo.Row, err error) {
	text, err := os.ReadFile(path)
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
