package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
)

// FixturesBelow returns the files of the paths, and the *.jsonl below those that are folders. Folders
// whose names begin with a dot are left out.
func FixturesBelow(paths []string) (names []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, &exit.Status{Code: exit.Usage, Cause: err}
		}
		if !info.IsDir() {
			names = append(names, path)
			continue
		}
		err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name != path && strings.HasPrefix(entry.Name(), "."):
				return fs.SkipDir
			case entry.Type().IsRegular() && strings.HasSuffix(name, ".jsonl"):
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
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

// InRepository returns the path of a file from the root of the repository, as code scanning wants
// it; of a file outside it stays as it is.
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
