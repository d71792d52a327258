package replay

// For the tests that explore, which this package must not import.
var (
	RandomLines = randomLines
	RandomSetup = randomSetup
	Session     = session
	Stands      = Model.stands
)

// Splice is splice, for tests that put other names into frames.
var Splice = splice
