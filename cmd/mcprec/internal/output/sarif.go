package output

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"
)

// Rule is a rule that a result may break.
type Rule struct {
	ID    string
	Title string
	Help  string
	Level string // the worst that a result of it may have: error, warning or note
}

// Result is a place where a rule is broken.
type Result struct {
	Rule   string // its ID
	Level  string
	Text   string
	Events []Location
}

// Location is an event of a session.
type Location struct {
	Name string // SESSION#SEQ
	File string // "" of a session that is no file
	Line uint64 // of the file; 0 where events are no lines
}

// writeSARIF writes a log of one run of SARIF 2.1.0.
func writeSARIF(w io.Writer, head Head, results []Result) error {
	type object = map[string]any
	text := func(s string) object { return object{"text": s} }
	rules := []object{}
	found := []object{}
	for _, r := range head.Rules {
		rules = append(rules, object{"id": r.ID, "shortDescription": text(r.Title), "help": text(r.Help),
			"defaultConfiguration": object{"level": r.Level}})
	}
	for _, r := range results {
		locations := []object{}
		for _, at := range r.Events {
			l := object{"logicalLocations": []object{{"fullyQualifiedName": at.Name, "kind": "event"}}}
			if at.File != "" {
				uri := url.URL{Path: filepath.ToSlash(at.File)} // a relative path is a relative reference
				if filepath.IsAbs(at.File) {
					uri.Scheme = "file"
				}
				physical := object{"artifactLocation": object{"uri": uri.String()}}
				if at.Line > 0 {
					physical["region"] = object{"startLine": at.Line}
				}
				l["physicalLocation"] = physical
			}
			locations = append(locations, l)
		}
		index := slices.IndexFunc(head.Rules, func(rule Rule) bool { return rule.ID == r.Rule })
		found = append(found, object{"ruleId": r.Rule, "ruleIndex": index, "level": r.Level, "message": text(r.Text), "locations": locations})
	}
	enc := NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []object{{
		"tool": object{"driver": object{"name": "mcprec", "version": head.Version, "rules": rules}}, "results": found,
	}}})
}
