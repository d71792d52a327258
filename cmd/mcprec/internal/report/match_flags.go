package report

import (
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// MatchFlags returns the fewest flags under which a message with these differences, and more, would
// match. A difference outside the message, such as a status, has no flag. What is ignored is so only in the messages
// of such calls.
func MatchFlags(call match.Call, differences []match.Difference, more int) (flags []string) {
	ignore, normalize := match.Remedy(differences, more)
	for _, path := range ignore {
		flags = append(flags, "--ignore "+phrase.ShellWord(strings.TrimPrefix(limitOf(call)+" "+path, " ")))
	}
	if len(normalize) > 0 {
		flags = append(flags, "--normalize "+strings.Join(normalize, ","))
	}
	return flags
}

// plainName matches a name that a filter takes without quotes.
var plainName = phrase.Regexp(`^[A-Za-z0-9_.-]+$`)

// limitOf returns the filter of such calls, or "".
func limitOf(call match.Call) string {
	switch name := call.Target; {
	case call.Method == "" || phrase.OneLine(call.Method) != call.Method || strings.ContainsAny(call.Method, " |,*\"\\"):
		return ""
	case call.Method != mcp.MethodCallTool || name == "" || phrase.OneLine(name) != name:
		return "method:" + call.Method
	case plainName().MatchString(name):
		return "tool:" + name
	default:
		return `tool:"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	}
}

// MatchLine returns the line with the flags.
func MatchLine(flags []string) string { return "to let it match: " + strings.Join(flags, " ") }

// UnexpectedLines returns the lines with the flags under which the unexpected requests of a client
// would match, and with the way to record them. No flag lets a request for another tool or
// resource match.
func UnexpectedLines(verdicts []match.StepVerdict) []string {
	var flags []string
	missed := false
	for _, v := range verdicts {
		if v.Result != match.Extra || len(v.Differences) == 0 {
			continue
		}
		missed = true
		other := func(d match.Difference) bool { return d.Path == "/params/name" || d.Path == "/params/uri" }
		if !slices.ContainsFunc(v.Differences, other) {
			flags = append(flags, MatchFlags(v.Call, v.Differences, v.More)...)
		}
	}
	const record = "to record it as well: --mode new_episodes FILE -- COMMAND"
	switch {
	case !missed:
		return nil
	case len(flags) == 0:
		return []string{record}
	}
	return []string{MatchLine(slices.Compact(slices.Sorted(slices.Values(flags)))) + "; " + record}
}
