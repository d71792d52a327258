package replay

import "strings"

// windowFrom is the length from which on texts are compared by a window.
const windowFrom = 4096

// margin is how much of what is equal stays in the window on either side: the
// longest date there is, and then some.
const margin = 128

// window returns the parts of two texts that differ, with something around it, cut
// between words. What looks at words alone says the same of the parts as of the
// whole, and a long text mostly differs in little.
func window(a, b string) (partA, partB string) {
	if min(len(a), len(b)) < windowFrom {
		return a, b
	}
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	if from = strings.LastIndexAny(a[:max(0, from-margin)], " \n"); from < 0 {
		from = 0
	}
	a, b = a[from:], b[from:]
	end := 0
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	rest := max(0, end-margin)
	cut := strings.IndexAny(a[len(a)-rest:], " \n")
	if cut < 0 {
		return a, b
	}
	rest -= cut
	return a[:len(a)-rest], b[:len(b)-rest]
}
