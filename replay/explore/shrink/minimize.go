package shrink

import "slices"

// Minimize returns items, in their order, for which the test still holds and of
// which no single one can go. It is delta debugging: big pieces first, then ever
// smaller ones. The test of all items is taken to hold; a test that is out of
// budget answers false.
func Minimize[T any](items []T, test func(kept []T) bool) []T {
	if len(items) == 0 || test(nil) {
		return nil
	}
	for size := (len(items) + 1) / 2; ; size = max(size/2, 1) {
		before := len(items)
		items = sweep(items, size, test)
		if size == 1 && len(items) == before {
			return items
		}
	}
}

// sweep drops the pieces of a size that are not needed, from the first.
func sweep[T any](items []T, size int, test func([]T) bool) []T {
	for at := 0; at < len(items); {
		end := min(at+size, len(items))
		rest := slices.Concat(items[:at], items[end:])
		if len(rest) > 0 && test(rest) {
			items = rest
		} else {
			at = end
		}
	}
	return items
}
