package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
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

// LimitMemory makes the collector free a large event before the next is read, instead of
// waiting for as much garbage again. It is for commands that hold little else. The function
// that it returns ends that.
func LimitMemory() (end func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, memoryLimit))
	return func() { debug.SetMemoryLimit(before) }
}
