package explore

import "time"

// Seed and RegisterAfterWrite are planted bugs, for the tests outside the package.
var (
	Seed               = seed
	RegisterAfterWrite = registerAfterWrite
)

// What a report says must not depend on how busy the machine is.
func init() { aftermath = time.Hour }
