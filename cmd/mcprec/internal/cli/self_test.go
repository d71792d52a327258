package cli

import (
	"strings"
	"testing"
)

func TestServesAgents(t *testing.T) {
	for line, want := range map[string]bool{
		"mcprec|mcp":                        true,
		`C:\Tools\MCPREC.EXE|mcp|--store|x`: true,
		"npx|-y|mcprec@0.1.0|mcp":           true,
		"sh|-c|exec '/opt/mcprec' mcp":      true,
		"mcprec|record|--|server":           false,
		"mcp|run|mcprec":                    false,
		"mcp":                               false,
		"uvx|mcp-server-git":                false,
	} {
		if got := ServesAgents(strings.Split(line, "|")); got != want {
			t.Errorf("%s: %t, want %t", line, got, want)
		}
	}
}
