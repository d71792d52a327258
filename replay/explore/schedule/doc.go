// Package schedule chooses the next step of a run: by a strategy, by a token, or by a walk
// through every order.
//
// # Data layout
//
// A run is a list of [gate.Step] values. Before each step the engine asks a [Chooser] with
// the enabled steps in eager's order. A [Strategy] makes the chooser of each run of a
// search. A [Token] names a schedule by its deviations from eager; a [Follower] follows the
// token. [Delayed] is eager with some steps put off, for shrinking.
//
// Two steps commute if they wake different ends and are not both takes in a direction
// ([Touching]). Runs that differ only in the order of commuting steps are of the same class.
// A [Walk] visits every class at a capacity, a [Trail] is the class of a run, and a [Tally]
// counts the classes of a search.
//
// # What it refuses
//
// It runs no peer, and sees of a run only the steps.
package schedule
