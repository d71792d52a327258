// Package interrupt ends long computations when a context ends. The loops of a pure function ask a [Flag], which
// costs next to nothing, and give up where it is raised; the function that took the context then returns its error.
package interrupt

import "context"

// Flag is raised when its context has ended. The nil Flag never is. A Flag is for one goroutine.
type Flag struct {
	ctx    context.Context
	asked  int
	raised bool
}

// every is how many questions the context is looked at for once.
const every = 256

// On returns the flag of a context.
func On(ctx context.Context) *Flag { return &Flag{ctx: ctx} }

// Raised reports whether the context has ended. Once it is true it stays true.
func (f *Flag) Raised() bool {
	if f == nil || f.raised {
		return f != nil
	}
	if f.asked%every == 0 {
		f.raised = f.ctx.Err() != nil
	}
	f.asked++
	return f.raised
}

// Err returns the error of the context, if it has ended by now.
func (f *Flag) Err() error {
	if f == nil {
		return nil
	}
	return f.ctx.Err()
}
