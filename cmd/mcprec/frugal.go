package main

import "runtime/debug"

// frugalMemory is more than a command that goes through events one by one holds of
// ordinary ones.
const frugalMemory = 64 << 20

// frugal has what is left of one large event collected before the next is read, which
// else would wait until there is as much garbage as the event is large. It is for
// commands that hold little else. What it returns ends that.
func frugal() (end func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, frugalMemory))
	return func() { debug.SetMemoryLimit(before) }
}
