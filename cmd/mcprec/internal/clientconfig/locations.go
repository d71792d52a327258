package clientconfig

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// System is what decides where the files of clients are on a machine.
type System struct {
	GOOS    string
	Home    string // the user's home folder
	Getenv  func(string) string
	Folders []string // the folder of the project, and those above that may have its files; absolute
}

// ThisSystem returns the System of this process, in the folder in which it runs.
func ThisSystem() (none System, _ error) {
	user, err := os.UserHomeDir()
	if err != nil {
		return none, fmt.Errorf("find the configuration of clients: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return none, fmt.Errorf("find the configuration of this project: %w", err)
	}
	folders := ProjectFolders(here)
	if real, err := filepath.EvalSymlinks(here); err == nil && real != here {
		folders = append(folders, ProjectFolders(real)...)
	}
	return System{GOOS: runtime.GOOS, Home: user, Getenv: os.Getenv, Folders: folders}, nil
}

// Location is where one client keeps servers: a place in a file.
type Location struct {
	Client string   `json:"client"`
	Scope  Scope    `json:"scope"`
	File   string   `json:"file"` // absolute
	Keys   []string `json:"keys"`
}

// format is how a file is written.
type format string

const (
	formatJSON format = "JSON" // with comments and trailing commas or without
	formatTOML format = "TOML"
	formatYAML format = "YAML" // which is not edited
)

// formatOf returns the format that a file's name says.
func formatOf(file string) format {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".toml":
		return formatTOML
	case ".yaml", ".yml":
		return formatYAML
	}
	return formatJSON
}

// Editable reports whether the location's file has a format that mcprec edits.
func (l Location) Editable() bool { return formatOf(l.File) != formatYAML }

// Locations returns where the clients keep servers on this machine, in the order of the table. The
// files need not be there.
func (s System) Locations() (list []Location) {
	for _, client := range Clients() {
		for _, place := range client.Places {
			for _, template := range place.Files {
				for _, file := range s.expand(template) {
					for _, keys := range s.keys(place.Keys) {
						list = append(list, Location{client.Name, place.Scope, file, keys})
					}
				}
			}
		}
	}
	return list
}

// LocationsIn returns where a file that the user names may have servers. It is taken as a file of
// the client, or, for "", of the client that has a file of this name. In any other the usual keys
// are tried.
func (s System) LocationsIn(file, client string) (list []Location) {
	for _, at := range s.Locations() {
		if at.File == file && (client == "" || at.Client == client) {
			list = append(list, at)
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, c := range Clients() {
		if client != "" && client != c.Name {
			continue
		}
		for _, place := range c.Places {
			inProject := func(template string) bool {
				return strings.HasSuffix(filepath.ToSlash(file), strings.TrimPrefix(template, "."))
			}
			if client == "" && (place.Scope != Project || !slices.ContainsFunc(place.Files, inProject)) {
				continue
			}
			for _, keys := range s.keys(place.Keys) {
				list = append(list, Location{c.Name, place.Scope, file, keys})
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	for _, keys := range usualKeys {
		list = append(list, Location{cmp.Or(client, "other"), Other, file, keys})
	}
	return list
}

// same reports whether two locations are the same place of the same file.
func (l Location) same(other Location) bool {
	return l.File == other.File && slices.Equal(l.Keys, other.Keys)
}

// expand returns the files that a template stands for. The folders of a "*" are read from the disk.
func (s System) expand(template string) (files []string) {
	roots, rest := s.roots(template)
	before, after, starred := strings.Cut(filepath.FromSlash(rest), filepath.FromSlash("/*/"))
	for _, root := range roots {
		if !starred {
			files = append(files, filepath.Join(root, before))
			continue
		}
		entries, _ := os.ReadDir(filepath.Join(root, before)) // most machines do not have it
		for _, entry := range entries {
			files = append(files, filepath.Join(root, before, entry.Name(), after))
		}
	}
	return files
}

// roots returns the folders in which a template begins, and the rest of it.
func (s System) roots(template string) (roots []string, rest string) {
	variable, isVariable := strings.CutPrefix(template, "${")
	if isVariable {
		variable, rest, _ = strings.Cut(variable, "}")
		name, otherwise, _ := strings.Cut(variable, ":-")
		if value := s.Getenv(name); filepath.IsAbs(value) {
			return []string{value}, rest
		}
		if otherwise == "" {
			return nil, ""
		}
		return []string{strings.Replace(otherwise, "~", s.Home, 1)}, rest
	}
	first, rest, _ := strings.Cut(template, "/")
	switch first {
	case ".":
		return s.Folders, rest
	case "config:":
		return []string{s.configFolder()}, rest
	}
	return []string{s.Home}, rest // "~"
}

// configFolder returns the folder for the settings of a user's programs.
func (s System) configFolder() string {
	variable, otherwise := "XDG_CONFIG_HOME", ".config"
	switch s.GOOS {
	case "windows":
		variable, otherwise = "APPDATA", "AppData/Roaming"
	case "darwin":
		return filepath.Join(s.Home, "Library", "Application Support")
	}
	if dir := s.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.Home, filepath.FromSlash(otherwise))
}

// keys returns the keys of a place. "*" is each folder of the project, as the client writes it.
func (s System) keys(keys []string) (list [][]string) {
	at := slices.Index(keys, "*")
	if at < 0 {
		return [][]string{keys}
	}
	for _, folder := range s.Folders {
		own := slices.Clone(keys)
		own[at] = folder
		list = append(list, own)
		if slashed := filepath.ToSlash(folder); slashed != folder { // on Windows
			own = slices.Clone(own)
			own[at] = slashed
			list = append(list, own)
		}
	}
	return list
}

// ProjectFolders returns a folder and those above it up to the root of its repository, which has
// .git. Outside a repository it returns the folder alone.
func ProjectFolders(folder string) []string {
	folders := []string{folder}
	for dir := folder; ; dir = filepath.Dir(dir) {
		if dir != folder {
			folders = append(folders, dir)
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return folders
		}
		if dir == filepath.Dir(dir) {
			return folders[:1]
		}
	}
}
