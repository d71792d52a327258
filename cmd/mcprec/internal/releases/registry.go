package releases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Registry is where releases come from.
type Registry interface {
	// Releases lists the versions of a range, oldest first.
	Releases(ctx context.Context, r Range) ([]string, error)
	// Date returns the day of a release, such as 2026-05-03; "" if it is not known.
	Date(ctx context.Context, name, version string) string
	// Install installs a release in a folder, in which [Copy] may have put a project.
	Install(ctx context.Context, folder, name, version string) error
	// IsProject reports whether a folder has a project of this registry's kind.
	IsProject(folder string) bool
}

// registries are those that there are, by kind. Another one has a file, a line here, and a place in the errors of ParseRange.
var registries = map[string]Registry{"npm": &npm{}, "go": goModules{}}

// Of returns the registry of a range.
func Of(r Range) Registry { return registries[r.Kind] }

// run runs the client of a registry, and returns what it prints. The error has the last lines of its complaint.
func run(ctx context.Context, folder string, env []string, words ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	if folder != "" {
		cmd.Env = append(cmd.Env, "PWD="+folder)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s: it is not on this machine's PATH", words[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", phrase.ShellLine(words...), err, complaint(errs.String()))
	}
	return out.Bytes(), nil
}

// complaint returns the lines of a client's standard error that say something, on one line.
func complaint(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		isLog := strings.Contains(line, "A complete log of this run") || strings.HasSuffix(line, "error code")
		if line != "" && !isLog {
			lines = append(lines, line)
		}
	}
	return phrase.Clip(strings.Join(lines[:min(len(lines), 6)], "; "), 500)
}

// A project that is copied has at most so many files and bytes, without what is left out.
const mostFiles, mostBytes = 20_000, 200 << 20

// leftOut are the folders of a project that are not copied: they are made again, or belong to git.
var leftOut = []string{"node_modules", ".git"}

// Copy copies a project to a folder that is not there yet.
func Copy(project, folder string) error {
	files, size := 0, int64(0)
	return filepath.WalkDir(project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(project, path)
		if err != nil {
			return err
		}
		to := filepath.Join(folder, name)
		if entry.IsDir() {
			if name != "." && slices.Contains(leftOut, entry.Name()) {
				return fs.SkipDir
			}
			return os.MkdirAll(to, 0o700)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		size += info.Size()
		switch {
		case files > mostFiles || size > mostBytes:
			return fmt.Errorf("copy %s: it has more than %d files or %d MiB; change into the folder of the project", project, mostFiles, mostBytes>>20)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err == nil {
				err = os.Symlink(target, to)
			}
			return err
		case !info.Mode().IsRegular():
			return nil // a pipe or a socket is of no project
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, info.Mode().Perm()|0o200)
	})
}
