package diff

import "slices"

// maxTable is the largest table of a longest common subsequence: rows times columns.
const maxTable = 1 << 20

// align pairs equal elements of two lists of n and m elements in the order of both: as many as
// possible, or only at both ends if the lists are too long. It calls pair with rising indices.
func align(n, m int, same func(i, j int) bool, pair func(i, j int)) {
	from := 0
	for from < min(n, m) && same(from, from) {
		pair(from, from)
		from++
	}
	end := 0
	for end < min(n, m)-from && same(n-1-end, m-1-end) {
		end++
	}
	rows := n - from - end
	columns := m - from - end
	if rows > 0 && columns > 0 && rows*columns <= maxTable {
		longestCommon(rows, columns,
			func(i, j int) bool { return same(from+i, from+j) },
			func(i, j int) { pair(from+i, from+j) })
	}
	for ; end > 0; end-- {
		pair(n-end, m-end)
	}
}

// longestCommon pairs the elements of a longest common subsequence of two lists.
func longestCommon(rows, columns int, same func(i, j int) bool, pair func(i, j int)) {
	best := make([]int32, (rows+1)*(columns+1)) // the length from i and j to the ends
	at := func(i, j int) *int32 { return &best[i*(columns+1)+j] }
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			if same(i, j) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	i, j := 0, 0
	for i < rows && j < columns {
		switch {
		case same(i, j):
			pair(i, j)
			i++
			j++
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
}

// span is a part of two lists: from a0 to a1, and from b0 to b1.
type span struct{ a0, a1, b0, b1, depth int }

// maxDepth is how often patience splits a part again. Each time costs the part's length.
const maxDepth = 8

// patience pairs elements of two lists by labels, as patience diff does: equal labels at both
// ends, then labels which each list has only once, in the order of both (the anchors), and again
// between the anchors. Where labels repeat, the neighbours decide.
func patience(a, b []uint64, pair func(i, j int)) {
	todo := []span{{0, len(a), 0, len(b), 0}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for s.a0 < s.a1 && s.b0 < s.b1 && a[s.a0] == b[s.b0] {
			pair(s.a0, s.b0)
			s.a0++
			s.b0++
		}
		for s.a0 < s.a1 && s.b0 < s.b1 && a[s.a1-1] == b[s.b1-1] {
			s.a1--
			s.b1--
			pair(s.a1, s.b1)
		}
		if s.a0 == s.a1 || s.b0 == s.b1 || s.depth == maxDepth {
			continue
		}
		anchors := anchorsOf(a[s.a0:s.a1], b[s.b0:s.b1])
		from := s
		for _, anchor := range anchors {
			i := s.a0 + anchor[0]
			j := s.b0 + anchor[1]
			pair(i, j)
			todo = append(todo, span{from.a0, i, from.b0, j, s.depth + 1})
			from.a0 = i + 1
			from.b0 = j + 1
		}
		if len(anchors) > 0 {
			todo = append(todo, span{from.a0, s.a1, from.b0, s.b1, s.depth + 1})
		}
	}
}

// anchorsOf returns pairs of labels which each list has only once: as many as possible in the
// order of both.
func anchorsOf(a, b []uint64) (anchors [][2]int) {
	type place struct{ times, at [2]int32 }
	places := make(map[uint64]place, len(a))
	for side, labels := range [2][]uint64{a, b} {
		for i, label := range labels {
			p := places[label]
			p.times[side]++
			p.at[side] = int32(i)
			places[label] = p
		}
	}
	var once []int
	var order []int32
	for i, label := range a {
		if p := places[label]; p.times == [2]int32{1, 1} {
			once = append(once, i)
			order = append(order, p.at[1])
		}
	}
	for i, isIn := range longestIncreasing(order) {
		if isIn {
			anchors = append(anchors, [2]int{once[i], int(order[i])})
		}
	}
	return anchors
}

// longestIncreasing reports which elements of a list of different numbers are in a longest
// increasing subsequence of the list. The others moved.
func longestIncreasing(list []int32) []bool {
	var ends []int                     // by length - 1: the index of the least last element
	previous := make([]int, len(list)) // the element before in the subsequence that ends here
	for i, n := range list {
		length, _ := slices.BinarySearchFunc(ends, n, func(end int, n int32) int { return int(list[end]) - int(n) })
		previous[i] = -1
		if length > 0 {
			previous[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	isIn := make([]bool, len(list))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
			isIn[i] = true
		}
	}
	return isIn
}
