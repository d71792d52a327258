package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
)

// labels is the flag --label: of a session that is recorded, or that sessions must have.
type labels struct {
	text   string            // one without a value
	values map[string]string // NAME=VALUE
}

// String, Set and Type make it a flag that may be given several times.
func (l *labels) String() string { return strings.Join(l.list(), " ") }

// Set takes one.
func (l *labels) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		l.text = s
		return nil
	}
	if l.values == nil {
		l.values = map[string]string{}
	}
	l.values[name] = value
	return nil
}

// Type is what help calls it.
func (l *labels) Type() string { return "LABEL" }

func (l *labels) list() (list []string) {
	if l.text != "" {
		list = append(list, l.text)
	}
	for _, name := range slices.Sorted(maps.Keys(l.values)) {
		list = append(list, name+"="+l.values[name])
	}
	return list
}

// of reports whether a session has all of them. NAME=VALUE may also be all of its label.
func (l *labels) of(h store.Header) bool {
	if l.text != "" && h.Label != l.text {
		return false
	}
	for name, value := range l.values {
		if has, ok := h.Labels[name]; (!ok || has != value) && h.Label != name+"="+value {
			return false
		}
	}
	return true
}

// labelOf is what a listing shows.
func labelOf(s store.Session) string {
	return (&labels{s.Label, s.Labels}).String()
}
