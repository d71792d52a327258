package boltstore

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultFolder returns the folder of a user's store as an environment has it: $MCPREC_HOME, else mcprec in
// $XDG_STATE_HOME, else in the folder of the system for such files.
func DefaultFolder(env func(string) string) (string, error) {
	user, err := os.UserHomeDir()
	if folder := defaultFolder(runtime.GOOS, env, user); folder != "" {
		return folder, nil
	}
	return "", fmt.Errorf("find the store: %v; set MCPREC_HOME", err)
}

// defaultFolder is DefaultFolder for a system; user is the folder of the user, or "". The result is "" if
// nothing says where the store is.
func defaultFolder(system string, env func(string) string, user string) string {
	if text := env("MCPREC_HOME"); text != "" {
		return text
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprec")
	}
	// Not the roaming folder, which Windows copies from machine to machine.
	if dir := env("LOCALAPPDATA"); system == "windows" && dir != "" {
		return filepath.Join(dir, "mcprec")
	}
	if user == "" {
		return ""
	}
	return filepath.Join(user, ".local", "state", "mcprec")
}
