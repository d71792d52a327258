package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store/boltstore"
)

// home says where the store is, and what is masked of what leaves it.
type home struct {
	dir     string
	secrets secretOptions
}

func (h *home) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.dir, "store", "", "the store's `DIR` (default $MCPREC_HOME, else the state folder)")
}

// addDoor adds the flags of a command that shows or writes what the store keeps.
func (h *home) addDoor(cmd *cobra.Command) {
	h.addFlags(cmd)
	h.secrets.addFlags(cmd)
}

// path returns the store's folder without making it.
func (h *home) path() (string, error) {
	if h.dir != "" {
		return h.dir, nil
	}
	if dir := os.Getenv("MCPREC_HOME"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprec"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the store: %v; set MCPREC_HOME", err)
	}
	return filepath.Join(user, ".local", "state", "mcprec"), nil
}

func (h *home) open(o boltstore.Options) (*boltstore.Store, error) {
	dir, err := h.path()
	if err != nil {
		return nil, err
	}
	return boltstore.Open(dir, o)
}
