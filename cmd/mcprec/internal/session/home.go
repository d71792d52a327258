package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/store/boltstore"
)

// Home is where a command's store is, and how its secrets are masked.
type Home struct {
	Place   string // a folder; "" is $MCPREC_HOME, or else the state folder
	Secrets Secrets
}

// folder returns the folder of the store, and makes nothing there.
func (h *Home) folder() (string, error) {
	folder := h.Place
	if folder == "" {
		var err error
		if folder, err = boltstore.DefaultFolder(os.Getenv); err != nil {
			return "", err
		}
	}
	scheme, rest, isURL := strings.Cut(folder, "://")
	if isURL && len(scheme) > 1 && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789") == "" { // one letter is a drive of Windows
		host := rest[strings.LastIndexByte(rest, '@')+1:]
		return "", cli.Usagef("the store %s://%s is no folder; mcprec share pull brings sessions of a shared store into one", scheme, host)
	}
	return folder, nil
}

// Absolute returns the folder of the store as another process is to be told it.
func (h *Home) Absolute() (string, error) {
	folder, err := h.folder()
	if err != nil {
		return "", err
	}
	return filepath.Abs(folder)
}

// UsualFolder returns the store's folder where neither a flag nor a variable of the user's own names
// another, or "".
func UsualFolder() string {
	folder, _ := boltstore.DefaultFolder(without(os.Getenv, "MCPREC_HOME", "XDG_STATE_HOME")) // else it is ""
	return folder
}

// without returns an environment that lacks some variables.
func without(env func(string) string, names ...string) func(string) string {
	return func(name string) string {
		if slices.Contains(names, name) {
			return ""
		}
		return env(name)
	}
}
