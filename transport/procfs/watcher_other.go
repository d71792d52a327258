//go:build !linux || (!amd64 && !arm64)

package procfs

import "errors"

// Watcher looks at a tree of processes.
type Watcher struct{}

// Watch returns an error: no other system shows what a thread waits for.
func Watch(int, ...string) (*Watcher, error) { return nil, Supported() }

// WatchOnly returns an error.
func WatchOnly(int, ...string) (*Watcher, error) { return nil, Supported() }

// Supported returns why this machine cannot be looked at.
func Supported() error {
	return errors.New("this needs Linux on amd64 or arm64, which shows what each thread of a process waits for")
}

// Look is never called.
func (w *Watcher) Look() Look { return Look{} }

// Kill does nothing.
func (w *Watcher) Kill() {}

// Close does nothing.
func (w *Watcher) Close() {}

// Name returns "".
func Name(int) string { return "" }

// Own does nothing.
func (w *Watcher) Own(...string) {}
