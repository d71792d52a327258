package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
)

// The parts of SARIF 2.1.0 that a report of findings needs.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	} `json:"driver"`
}

type sarifRule struct {
	ID      string    `json:"id"`
	Short   sarifText `json:"shortDescription"`
	Help    sarifText `json:"help"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule      string          `json:"ruleId"`
	Index     int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	Line uint64 `json:"startLine"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

// writeSARIF writes findings as a log of one run.
func writeSARIF(w io.Writer, findings []sessionFinding) error {
	rules, index := sarifRules()
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name, run.Tool.Driver.Version, run.Tool.Driver.Rules = "mcprec", version(), rules
	for _, f := range findings {
		run.Results = append(run.Results, sarifResult{
			Rule: f.Rule, Index: index[f.Rule], Level: f.Severity.String(), Message: sarifText{f.Text}, Locations: f.locations(),
		})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

// sarifRules lists each rule once, with the worst that it may be.
func sarifRules() (rules []sarifRule, index map[string]int) {
	index = map[string]int{}
	worst := map[string]order.Severity{}
	for _, d := range check.Demands() {
		i, known := index[d.Rule]
		if !known {
			i = len(rules)
			index[d.Rule] = i
			help, _ := check.Explain(d.Rule) // there is one of every rule
			rules = append(rules, sarifRule{ID: d.Rule, Short: sarifText{check.Name(d.Rule)}, Help: sarifText{help}})
		}
		if d.Severity > worst[d.Rule] {
			worst[d.Rule] = d.Severity
			rules[i].Default.Level = d.Severity.String()
		}
	}
	return rules, index
}

// locations are where a finding's events are: in a fixture each is a line.
func (f *sessionFinding) locations() (list []sarifLocation) {
	for _, seq := range f.Events {
		l := sarifLocation{Logical: []sarifLogical{{fmt.Sprintf("%s#%d", f.session, seq), "event"}}}
		if f.file {
			l.Physical = &sarifPhysical{}
			l.Physical.Artifact.URI = fileURI(f.session)
			if f.lines {
				l.Physical.Region = &sarifRegion{seq}
			}
		}
		list = append(list, l)
	}
	return list
}

// fileURI returns a relative reference for a relative path.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
