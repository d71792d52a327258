package diff

// aligned is how long two lists may be, one times the other, that are aligned at best.
const aligned = 1 << 20

// align pairs the elements of two lists that are in the same order and the same, as many
// as there are, of long lists those at both ends. It yields indices in rising order.
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
	if rows, columns := n-from-end, m-from-end; rows > 0 && columns > 0 && rows*columns <= aligned {
		alignMiddle(from, rows, columns, same, pair)
	}
	for ; end > 0; end-- {
		pair(n-end, m-end)
	}
}

// alignMiddle finds a longest common subsequence.
func alignMiddle(from, rows, columns int, same func(i, j int) bool, pair func(i, j int)) {
	best := make([]int32, (rows+1)*(columns+1)) // of what is left from i and j on
	at := func(i, j int) *int32 { return &best[i*(columns+1)+j] }
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			if same(from+i, from+j) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	for i, j := 0, 0; i < rows && j < columns; {
		switch {
		case same(from+i, from+j):
			pair(from+i, from+j)
			i, j = i+1, j+1
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
}
