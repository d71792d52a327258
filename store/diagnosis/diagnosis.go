// Package diagnosis says what is wrong with a place where sessions are kept.
//
// # What it promises
//
// Facts go in, findings come out: [Cluster] of NATS JetStream, [Bucket] of objects, [Folder] and
// [Outbox] of this machine. Each has a method Findings. A [Finding] says what was found, why it
// matters and what to change. The graver findings come first, and among equals the order is that
// of the rules. A fact that could not be had is nil or empty, and leads to no finding but the one
// that says so where it matters.
//
// # Data layout
//
// The facts are plain values with JSON names, for mcprec store doctor --format json. Addresses in
// them have no credentials: the adapters leave those out.
//
// # What it refuses to do
//
// It does no I/O and asks no clock. The adapters gather the facts, and change nothing in a store
// but for a probe object in a bucket, which they remove.
package diagnosis

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Severity is how grave a finding is.
type Severity string

// The severities, the gravest first.
const (
	// Error: events are lost or will be, or something that mcprec needs does not work.
	Error Severity = "error"
	// Warning: it works now, and will not when something else fails, or it shows more than it should.
	Warning Severity = "warning"
	// Note: good to know.
	Note Severity = "note"
)

// Finding is one thing that should be known of a store.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`   // what was looked at, in a word that stays the same, as "replicas"
	Found    string   `json:"found"`  // a sentence without its full stop
	Why      string   `json:"why"`    // what follows from it
	Change   string   `json:"change"` // what to do; "" if there is nothing
}

// Worst returns the gravest severity of a list; "" for none.
func Worst(list []Finding) (worst Severity) {
	for _, finding := range list {
		if worst == "" || rank(finding.Severity) < rank(worst) {
			worst = finding.Severity
		}
	}
	return worst
}

// Merge returns the findings of several lists in one, the gravest first.
func Merge(lists ...[]Finding) []Finding {
	merged := findings{} // which is no null in JSON
	for _, list := range lists {
		merged = append(merged, list...)
	}
	return merged.sorted()
}

func rank(severity Severity) int { return slices.Index([]Severity{Error, Warning, Note}, severity) }

// findings collects what the rules find.
type findings []Finding

func (f *findings) add(severity Severity, rule, found, why, change string) {
	*f = append(*f, Finding{severity, rule, found, why, change})
}

// sorted returns the findings, the gravest first.
func (f findings) sorted() []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	return f
}

// Clock compares the clock of this machine with another one. Latency is half the time that the
// question took, by which the comparison may be wrong.
type Clock struct {
	Ahead   time.Duration `json:"ahead_ns"` // of this machine before the other; negative: behind
	Latency time.Duration `json:"latency_ns"`
}

// off returns by how much the clocks differ at least.
func (c *Clock) off() time.Duration {
	if c == nil {
		return 0
	}
	return max(c.Ahead.Abs()-c.Latency, 0)
}

// side says which way this machine's clock is off.
func (c *Clock) side() string {
	if c.Ahead < 0 {
		return "behind"
	}
	return "ahead of"
}

// isLocal reports whether a host, with or without a port, is this machine.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || address != nil && address.IsLoopback()
}

// size returns a number of bytes for people.
func size(bytes int64) string {
	number, unit := float64(bytes), "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if number < 1024 {
			break
		}
		number /= 1024
		unit = larger
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", bytes)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", number), ".0") + " " + unit
}

// full returns how many per cent of a limit are used; 0 without a limit.
func full(used, limit int64) int64 {
	if limit <= 0 {
		return 0
	}
	return int64(float64(used) / float64(limit) * 100)
}

// The fullness of a limit, in per cent, that is worth a word.
const (
	fairlyFull = 80
	nearlyFull = 95
)

// whenFull says what follows when there is no room for events in a shared store.
const whenFull = "when it is full, events stay in the recorders' outboxes, and when those are full they are lost"

// severityOf returns how grave it is that a limit is used to so many per cent.
func severityOf(used int64) Severity {
	if used >= nearlyFull {
		return Error
	}
	return Warning
}

// plural returns "1 server", "2 servers".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
