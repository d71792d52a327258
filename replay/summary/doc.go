// Package summary condenses a session into names, counts and durations, so that many
// sessions can be asked at once.
//
// # Data layout
//
// A [Fold] makes a [Summary] of a session's events, in one pass. A Summary names the two ends
// and the revision, and has a [Tool] for each tool that the client called. [Durations] counts
// durations in steps of a logarithmic scale, so that the quantiles of many sessions come from
// the sum of their steps.
//
// # What it refuses
//
// It holds no payloads: of what the peers said it keeps the names of tools, of the client and of
// the server. It does no I/O, asks no clock, and does not judge what hangs: package why does.
package summary
