package redact

import (
	"net/url"
	"strings"
)

// ArgValues returns the secrets of a command line: what follows --token or --token=,
// what a URL has, what looks like a key.
func ArgValues(args []string) []string {
	var values []string
	add := func(value string) {
		if value = unschemed(value); len(value) >= 4 {
			values = append(values, value)
		}
	}
	var line commandLine
	for i, arg := range args {
		if from, secret := line.word([]byte(arg)); secret && len(arg) > from {
			add(arg[from:])
		}
		if name, value, ok := strings.Cut(arg, "="); ok && isSecretArg(name, value) {
			add(value)
		} else if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.HasPrefix(arg, "-") && isSecretArg(args[i-1], arg) {
			add(arg)
		} else if strings.Contains(arg, "://") {
			values = append(values, URLValues(arg)...)
		}
	}
	return values
}

func isSecretArg(name, value string) bool {
	if s := secrecyOf([]byte(name)); s == noSecret || s == looseSecret && !looksRandom([]byte(value), 16) || s == randomSecret && !isKey([]byte(value)) {
		return false
	}
	return len(value) >= 4 && !isTemplate([]byte(value)) && !strings.HasPrefix(value, "/") && !noValues[strings.ToLower(value)]
}

// unschemed is a credential without its scheme.
func unschemed(value string) string {
	if scheme, rest, ok := strings.Cut(value, " "); ok && schemes[strings.ToLower(scheme)] {
		return rest
	}
	return value
}

// URLValues returns the secrets of a URL: its password, secret parameters, and parts of
// its path that look like nobody's words.
func URLValues(address string) []string {
	from := strings.LastIndexAny(address[:strings.Index(address+"://", "://")], " =\"'") + 1
	u, err := url.Parse(address[from:])
	if err != nil {
		return nil
	}
	var values []string
	add := func(v string) {
		if len(v) >= 4 && !isTemplate([]byte(v)) {
			values = append(values, v)
		}
	}
	if password, ok := u.User.Password(); ok {
		add(password)
	}
	for name, of := range u.Query() {
		for _, v := range of {
			if s := secrecyOf([]byte(name)); s > looseSecret || s == looseSecret && looksRandom([]byte(v), 16) || s == randomSecret && isKey([]byte(v)) || isQueryName([]byte(name)) {
				add(v)
			}
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if looksRandom([]byte(part), 24) && isMixed([]byte(part)) && !isUUID([]byte(part)) {
			add(part)
		}
	}
	return values
}
