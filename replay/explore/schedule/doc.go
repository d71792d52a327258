// Package schedule chooses the next step of a run: by a strategy, by a token, or by a walk
// through all orders.
//
// # Data layout
//
// A run is a list of [gate.Step] values. Before each of them the engine asks a [Chooser],
// which gets the enabled steps in eager's order. A [Strategy] makes the chooser of each run
// of a search. A [Token] names one schedule by its deviations from eager; a [Follower]
// follows it. [Delayed] is eager with some steps put off: shrinking uses it.
//
// Two steps commute if they touch nothing in common ([Touching]): they wake different ends,
// and are not both takes of one direction. Runs that differ only in the order of steps that
// commute are of one class. A [Walk] visits every class at one capacity, a [Trail] is the
// class of one run, and a [Tally] counts the classes of a search.
//
// # What it refuses
//
// It runs nothing and knows no peer: all that it learns of a run are the steps.
package schedule
