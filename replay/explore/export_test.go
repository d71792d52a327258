package explore

// Seed and RegisterAfterWrite are planted bugs, for the tests outside the package.
var (
	Seed               = seed
	RegisterAfterWrite = registerAfterWrite
)
