package diff

import "sort"

// rising returns which elements of a list of different numbers are in a longest rising
// part of it. The others moved.
func rising(list []int32) []bool {
	ends := []int{}                  // of the best part of each length, the index of its last
	before := make([]int, len(list)) // in the part that ends here
	for i, n := range list {
		length := sort.Search(len(ends), func(k int) bool { return list[ends[k]] >= n })
		before[i] = -1
		if length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	stays := make([]bool, len(list))
	if len(ends) == 0 {
		return stays
	}
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		stays[i] = true
	}
	return stays
}
