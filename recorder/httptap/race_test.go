//go:build race

package httptap

// raceEnabled: the race detector has pools forget some of what they are given.
const raceEnabled = true
