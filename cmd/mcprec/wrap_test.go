//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// asClient starts a server as a client would: with the command and the arguments that its
// configuration has, and without the variables by which mcprec finds its store.
//
//	asclient FILE KEY...
func asClient() {
	content, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var section any
	if filepath.Ext(os.Args[1]) == ".toml" {
		err = toml.Unmarshal(content, &section)
	} else if content, err = hujson.Standardize(append(bytes.TrimPrefix(content, []byte("\ufeff")), '\n')); err == nil {
		err = json.Unmarshal(content, &section)
	}
	for _, key := range os.Args[2:] {
		section = section.(map[string]any)[key]
	}
	var words []string
	for _, part := range []any{section.(map[string]any)["command"], section.(map[string]any)["args"]} {
		switch part := part.(type) {
		case string:
			words = append(words, part)
		case []any:
			for _, word := range part {
				words = append(words, word.(string))
			}
		}
	}
	client := exec.Command("mcprec", slices.Concat([]string{"demo", "client", "--"}, words)...)
	client.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "MCPREC_HOME=") })
	client.Stdout, client.Stderr = os.Stdout, os.Stderr
	if err != nil || client.Run() != nil {
		fmt.Fprintln(os.Stderr, "asclient:", err, words)
		os.Exit(1)
	}
}
