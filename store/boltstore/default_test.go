package boltstore

import (
	"path/filepath"
	"testing"
)

// TestDefaultFolder: where the store is on each system.
func TestDefaultFolder(t *testing.T) {
	root, err := filepath.Abs(string(filepath.Separator)) // with a drive, where there are drives
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	home := at("home", "me")
	state := filepath.Join(home, ".local", "state", "mcprec")
	for name, c := range map[string]struct {
		system, user string
		env          map[string]string
		want         string
	}{
		"linux":                {"linux", home, nil, state},
		"darwin":               {"darwin", home, map[string]string{"LOCALAPPDATA": at("local")}, state},
		"windows":              {"windows", home, map[string]string{"LOCALAPPDATA": at("local")}, at("local", "mcprec")},
		"windows without it":   {"windows", home, nil, state},
		"windows, chosen":      {"windows", home, map[string]string{"LOCALAPPDATA": at("local"), "MCPREC_HOME": "here"}, "here"},
		"a state folder":       {"linux", home, map[string]string{"XDG_STATE_HOME": at("state")}, at("state", "mcprec")},
		"windows, with both":   {"windows", home, map[string]string{"LOCALAPPDATA": at("local"), "XDG_STATE_HOME": at("state")}, at("state", "mcprec")},
		"a relative folder":    {"linux", home, map[string]string{"XDG_STATE_HOME": "state"}, state},
		"a user without one":   {"linux", "", nil, ""},
		"windows, no user":     {"windows", "", map[string]string{"LOCALAPPDATA": at("local")}, at("local", "mcprec")},
		"no user, but a state": {"linux", "", map[string]string{"XDG_STATE_HOME": at("state")}, at("state", "mcprec")},
	} {
		if got := defaultFolder(c.system, func(name string) string { return c.env[name] }, c.user); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
