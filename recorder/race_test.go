//go:build race

package recorder

// raced: the race detector has pools forget some of what they are given.
const raced = true
