//go:build !linux && !darwin

package sharing

// disk returns the file system of a folder, whether it is on another machine, and how much room it
// has: here nothing is known.
func disk(string) (name string, isNetwork bool, free int64) { return "", false, -1 }
