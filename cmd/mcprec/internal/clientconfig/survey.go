package clientconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Survey is what the files of clients have.
type Survey struct {
	Servers  []Server
	Unedited []Location // files that are there, in a format that is not edited
	Faults   []error    // of files that cannot be read
}

// Look reads the files of some locations. A file that two paths lead to is read once.
func Look(locations []Location) (found Survey) {
	type parsed struct {
		root *node
		err  error
	}
	files := map[string]parsed{}
	var seen []Location
	for _, at := range locations {
		real, err := filepath.EvalSymlinks(at.File)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			found.Faults = append(found.Faults, err)
			continue
		}
		place := Location{File: real, Keys: at.Keys}
		if slices.ContainsFunc(seen, place.same) {
			continue
		}
		seen = append(seen, place)
		if !at.Editable() {
			found.Unedited = append(found.Unedited, at)
			continue
		}
		file, isRead := files[real]
		if !isRead {
			var doc []byte
			if doc, file.err = readFile(at.File); file.err == nil {
				if file.root, file.err = parse(doc, formatOf(at.File)); file.err != nil {
					file.err = fmt.Errorf("%s: %w", at.File, file.err)
				}
			}
			files[real] = file
			if file.err != nil {
				found.Faults = append(found.Faults, file.err)
			}
		}
		if file.err != nil {
			continue
		}
		servers, err := serversIn(file.root, at)
		if err != nil {
			found.Faults = append(found.Faults, fmt.Errorf("%s: %w", at.File, err))
		}
		found.Servers = append(found.Servers, servers...)
	}
	return found
}
