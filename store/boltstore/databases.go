package boltstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// databases returns the paths of the store's databases, and says what else has a name
// that ends like theirs: it is left alone.
func (s *Store) databases() (paths []string, foreign []error, err error) {
	entries, err := os.ReadDir(s.storeDir())
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".db")
		path := filepath.Join(s.storeDir(), e.Name())
		switch {
		case !ok:
		case monthName(name) && !e.Type().IsRegular(): // see oddFiles
		case !monthName(name):
			foreign = append(foreign, fmt.Errorf("%s is left alone: databases of the store are named by the month, like 202611.db; give it its name back if it was one, or move it away", path))
		default:
			paths = append(paths, path)
		}
	}
	return paths, foreign, err
}

// monthName reports whether a database may have that name, without its ending.
func monthName(name string) bool {
	if name == "other" {
		return true
	}
	return len(name) == 6 && strings.Trim(name, "0123456789") == ""
}

// inPlace reports whether a session belongs into a database, or into what is to take its
// place.
func inPlace(path string, key []byte) bool {
	name, _, _ := strings.Cut(filepath.Base(path), ".db")
	return monthOf([16]byte(key)) == name
}

// misplaced says that a database holds sessions that belong into others. Nobody looks for
// them there.
func misplaced(path string, n int) error {
	return fmt.Errorf("%s holds sessions of other months: %d, which are looked for only in the databases of theirs; is it a copy? move it away, or give it its name back", path, n)
}
