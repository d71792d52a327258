package order

import (
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport/mcp"
)

// used is a set of ids, or of progress tokens. A session may go on for ever: whole numbers are kept as ranges, for
// most peers count, and other values as hashes.
type used struct {
	ranges []numbers // in their order
	hashes hashSet[mcp.Key]
}

// numbers are the whole numbers from first to last.
type numbers struct{ first, last int64 }

// maxRanges is how many ranges are kept. Numbers beyond them are hashed.
const maxRanges = 1024

func (u *used) add(key mcp.Key) {
	n, isNumber := wholeNumber(key)
	if !isNumber {
		u.hashes.add(key)
		return
	}
	i, isIn := u.find(n)
	touchesBefore := i > 0 && u.ranges[i-1].last == n-1
	touchesNext := !isIn && i < len(u.ranges) && u.ranges[i].first == n+1
	switch {
	case isIn:
	case touchesBefore && touchesNext:
		u.ranges[i-1].last = u.ranges[i].last
		u.ranges = slices.Delete(u.ranges, i, i+1)
	case touchesBefore:
		u.ranges[i-1].last = n
	case touchesNext:
		u.ranges[i].first = n
	case len(u.ranges) < maxRanges:
		u.ranges = slices.Insert(u.ranges, i, numbers{n, n})
	default:
		u.hashes.add(key)
	}
}

func (u *used) has(key mcp.Key) bool {
	if n, isNumber := wholeNumber(key); isNumber {
		if _, isIn := u.find(n); isIn {
			return true
		}
	}
	return u.hashes.has(key)
}

// hasEither is has of a key, or of its brother of the other type.
func (u *used) hasEither(key mcp.Key) bool { return u.has(key) || u.has(key.Retyped()) }

// find returns the range of a number, or the place of one.
func (u *used) find(n int64) (place int, isIn bool) {
	if last := len(u.ranges) - 1; last >= 0 && n > u.ranges[last].last { // as of a peer that counts
		return last + 1, false
	}
	return slices.BinarySearchFunc(u.ranges, n, func(r numbers, n int64) int {
		switch {
		case n < r.first:
			return 1
		case n > r.last:
			return -1
		}
		return 0
	})
}

// wholeNumber returns the number that a key is.
func wholeNumber(key mcp.Key) (n int64, isNumber bool) {
	if key == "" || key[0] == '"' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(key), 10, 64)
	return n, err == nil
}

// hashSet is a set of strings, kept as hashes.
type hashSet[T ~string] map[uint64]struct{}

var hashSeed = maphash.MakeSeed()

func (h hashSet[T]) has(key T) bool {
	if len(h) == 0 {
		return false
	}
	_, ok := h[maphash.String(hashSeed, string(key))]
	return ok
}

func (h *hashSet[T]) add(key T) {
	if *h == nil {
		*h = hashSet[T]{}
	}
	(*h)[maphash.String(hashSeed, string(key))] = struct{}{}
}

func (h hashSet[T]) remove(key T) {
	if len(h) > 0 {
		delete(h, maphash.String(hashSeed, string(key)))
	}
}
