package picture

import "iter"

// ends is a tree over the calls of an index, by their numbers: the greatest end of each 16
// calls, of each 16 of these, and so on. It finds the calls that are not over at an event
// without a look at every call before.
type ends [][]uint32

const fanOut = 16

// set takes the present end of a call. Calls are added in the order of their numbers.
func (t *ends) set(calls []call, number int) {
	greatest := uint32(0)
	at := number / fanOut
	for _, c := range calls[at*fanOut : min(len(calls), (at+1)*fanOut)] {
		greatest = max(greatest, c.end)
	}
	for level := 0; ; level++ {
		if level == len(*t) {
			*t = append(*t, nil)
		}
		row := (*t)[level]
		if at == len(row) {
			row = append(row, 0)
			(*t)[level] = row
		} else if row[at] == greatest {
			return
		}
		row[at] = greatest
		if len(row) == 1 {
			return
		}
		at /= fanOut
		greatest = 0
		for _, end := range row[at*fanOut : min(len(row), (at+1)*fanOut)] {
			greatest = max(greatest, end)
		}
	}
}

// from yields, in order, the numbers below limit of the calls that end at the event or later.
func (t ends) from(calls []call, event uint32, limit int) iter.Seq[int] {
	return func(yield func(int) bool) { t.walk(calls, len(t)-1, 0, event, limit, yield) }
}

// walk visits the 16 places of a level that begin at a place; level -1 is the calls themselves.
// It reports whether the caller of from wants more.
func (t ends) walk(calls []call, level, at int, event uint32, limit int, yield func(int) bool) bool {
	if level < 0 {
		for number := at; number < min(at+fanOut, limit); number++ {
			if calls[number].end >= event && !yield(number) {
				return false
			}
		}
		return true
	}
	for place := at; place < min(at+fanOut, len(t[level])); place++ {
		if t[level][place] >= event && !t.walk(calls, level-1, place*fanOut, event, limit, yield) {
			return false
		}
	}
	return true
}
