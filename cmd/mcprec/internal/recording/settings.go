package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
)

// SettingsName is the name of the file with the settings of the fixtures in its folder, and below.
const SettingsName = "mcprec.json"

// Settings are flags that hold for all fixtures of a folder. The file is committed, so it has no secret: only the
// names of environment variables.
type Settings struct {
	Ignore    []string          `json:"ignore"`
	Normalize []string          `json:"normalize"`
	Fill      map[string]string `json:"fill"` // placeholder name → environment variable

	Path string `json:"-"` // "": there are none
	fill Fill
}

// SettingsFor returns the settings for a fixture: those nearest to it, in its folder or above, up to a folder or
// the folder of a file that the user has named.
func SettingsFor(fixture string, named []string) (Settings, error) {
	var tops []string
	for _, path := range named {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			path = filepath.Dir(path)
		}
		tops = append(tops, filepath.Clean(path))
	}
	for dir := filepath.Dir(fixture); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, SettingsName)
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			return readSettings(path, text)
		case !errors.Is(err, fs.ErrNotExist):
			return Settings{}, err
		case slices.Contains(tops, dir) || dir == filepath.Dir(dir):
			return Settings{}, nil
		}
	}
}

// ParseIgnore reads a place that is not compared: a JSON pointer, perhaps behind a filter of calls.
func ParseIgnore(text string) (match.Pointer, error) {
	limit, place := "", text
	if before, after, found := strings.Cut(text, " /"); found && text[0] != '/' {
		limit, place = strings.TrimSpace(before), "/"+after
	}
	pointer, err := match.ParsePointer(place)
	if err != nil || limit == "" {
		return pointer, err
	}
	only, err := filter.Parse(limit)
	if err == nil && !only.Named() {
		err = fmt.Errorf("%q: want tool:, method: or target: before the pointer, such as 'tool:now /result/content/0/text'", text)
	}
	return pointer.Within(limit, func(c match.Call) bool {
		return only.SelectsCall(&timeline.Call{Method: c.Method, Target: c.Target})
	}), err
}

// variable matches the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readSettings reads a settings file. Its errors are the user's.
func readSettings(path string, text []byte) (s Settings, err error) {
	s.Path = path
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&s)
	if err == nil && decoder.Decode(new(any)) != io.EOF {
		err = errors.New("there is something behind the object")
	}
	for _, text := range s.Ignore {
		if _, fault := ParseIgnore(text); err == nil && fault != nil {
			err = fmt.Errorf("ignore: %w", fault)
		}
	}
	for _, name := range s.Normalize {
		if _, fault := match.ParseNormalizers(name); err == nil && fault != nil {
			err = fault
		}
	}
	for name, v := range s.Fill {
		if err == nil && !variable.MatchString(v) {
			err = fmt.Errorf("the value of fill.%s must be the name of an environment variable, such as API_KEY; no secret belongs in this file", name)
		}
	}
	if err == nil {
		s.fill, err = environment(s.Fill)
	}
	if err != nil {
		return Settings{}, cli.Usagef("%s: %v", path, err)
	}
	return s, nil
}

// With returns the secrets of the settings and of the flags, which come first.
func (s Settings) With(flags Fill) Fill {
	all := Fill{}
	for name, value := range s.fill {
		all[name] = value
	}
	for name, value := range flags {
		all[name] = value
	}
	return all
}
