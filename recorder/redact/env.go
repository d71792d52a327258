package redact

import (
	"slices"
	"strings"
)

// EnvValues returns the values of an environment ("NAME=value") that are secrets: of
// the variables that are named, whatever they are, and of those whose name says so and
// whose value is no path, switch or plain word.
func EnvValues(environ, names []string) []string {
	var values []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case slices.Contains(names, name) && len(value) >= 4:
		case isSecretEnv(name, value):
		default:
			continue
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

func isSecretEnv(name, value string) bool {
	s := secrecyOf([]byte(name))
	if len(value) < 8 || s == noSecret || strings.HasPrefix(value, "/") || isTemplate([]byte(value)) {
		return false
	}
	if s == randomSecret {
		return isKey([]byte(value))
	}
	lower, upper, digits := makeup([]byte(value))
	if lower+upper == 0 || s == looseSecret {
		return looksRandom([]byte(value), 16)
	}
	return digits > 0 || len(value) >= 12 && s >= textSecret
}
