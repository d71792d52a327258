package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/store/jsonl"
)

// FixturesBelow returns the files of the paths, and the *.jsonl below those that are folders, each
// once. Folders whose names begin with a dot are left out, and so is what a test that hung has left. A symbolic link to a file is a fixture,
// and so is one that leads nowhere, so that it is not missed in silence; one to a folder is not
// followed.
func FixturesBelow(paths []string) (names []string, err error) {
	seen := map[string]bool{}
	add := func(name string) error {
		whole, err := filepath.Abs(name)
		if err == nil && !seen[whole] {
			seen[whole] = true
			names = append(names, name)
		}
		return err
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, &cli.Status{Code: cli.ExitUsage, Cause: err}
		}
		if !info.IsDir() {
			if err := add(path); err != nil {
				return nil, err
			}
			continue
		}
		err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name != path && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case strings.HasSuffix(name, jsonl.HungSuffix):
				return nil
			case strings.HasSuffix(name, ".jsonl") && isFixture(name, entry):
				return add(name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

func isFixture(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(name)
	return err != nil || info.Mode().IsRegular()
}

// RepositoryRoot returns the folder above the working folder that has a .git, or the working folder.
func RepositoryRoot() string {
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return here
		}
	}
}

// InRepository returns the path from the root of the repository to a file, which code scanning wants.
// If the file is outside the repository, InRepository returns its name unchanged.
func InRepository(root, name string) string {
	whole, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	path, err := filepath.Rel(root, whole)
	if err != nil || !filepath.IsLocal(path) {
		return name
	}
	return path
}
