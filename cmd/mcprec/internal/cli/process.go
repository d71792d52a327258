package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
)

// Streams are the standard streams of the process; record needs files.
type Streams struct {
	In       *os.File
	Out, Err *os.File
}

// UntilSignal cancels at the first of [EndSignals], such as an interrupt. The returned function ends the wait,
// and returns the signal, or nil without one.
func UntilSignal(cancel context.CancelFunc) func() os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, EndSignals()...)
	got := make(chan os.Signal, 1)
	go func() { // may wait until the process ends
		got <- <-signals
		cancel()
	}()
	return func() os.Signal {
		signal.Stop(signals)
		select {
		case sig := <-got:
			return sig
		default:
			return nil
		}
	}
}

// memoryLimit is enough for a command that reads ordinary events one by one.
const memoryLimit = 64 << 20

// limited counts those that limit the memory of the process.
var limited struct {
	sync.Mutex
	users  int
	before int64 // the limit in bytes when there were none
}

// LimitMemory makes the collector free a large event before the next is read, instead of
// waiting for as much garbage again. It is for commands that hold little else. The function
// that it returns ends that. Several at once are fine: the limit ends with the last of them.
func LimitMemory() (end func()) {
	limited.Lock()
	defer limited.Unlock()
	if limited.users++; limited.users == 1 {
		limited.before = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(limited.before, memoryLimit))
	}
	return func() {
		limited.Lock()
		defer limited.Unlock()
		if limited.users--; limited.users == 0 {
			debug.SetMemoryLimit(limited.before)
		}
	}
}
