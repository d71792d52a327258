//go:build race

package gosdk_test

// slowed is how many times fewer schedules the race detector gets.
const slowed = 10
