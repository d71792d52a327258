package releases

// Outcome is what came of trying a release.
type Outcome int

// The outcomes.
const (
	Unclear Outcome = iota // it cannot be told
	Good
	Bad
)

// Change is a pair of neighbours in a list with different outcomes. Those between them are unclear.
type Change struct{ Before, After int }

// mostTried is how many releases are tried between two ends that are alike.
const mostTried = 16

// Search finds where the outcome changes in a list, and tries as few of it as it can. If both ends are alike it looks
// for another outcome between them, from the middle on.
func Search(count int, try func(i int) (Outcome, error)) (changes []Change, err error) {
	s := searcher{try: try, outcomes: map[int]Outcome{}}
	low, high := 0, count-1
	for low <= high && s.of(low) == Unclear {
		low++
	}
	for high > low && s.of(high) == Unclear {
		high--
	}
	switch {
	case s.err != nil || low >= high:
	case s.of(low) != s.of(high):
		changes = s.between(low, high)
	default:
		if middle := s.another(low, high); middle > 0 {
			changes = append(s.between(low, middle), s.between(middle, high)...)
		}
	}
	return changes, s.err
}

// searcher remembers what was tried.
type searcher struct {
	try      func(i int) (Outcome, error)
	outcomes map[int]Outcome
	err      error // the first, after which nothing is tried
}

func (s *searcher) of(i int) Outcome {
	outcome, isTried := s.outcomes[i]
	if !isTried && s.err == nil {
		outcome, s.err = s.try(i)
		s.outcomes[i] = outcome
	}
	return outcome
}

// between returns the change between two of different outcomes.
func (s *searcher) between(low, high int) []Change {
	for s.err == nil {
		var untried []int
		for i := low + 1; i < high; i++ {
			if _, isTried := s.outcomes[i]; !isTried {
				untried = append(untried, i)
			}
		}
		known := s.known(low, high)
		switch {
		case len(known) > 0 && s.of(known[0]) == s.of(low):
			low = known[0]
		case len(known) > 0:
			high = known[0]
		case len(untried) == 0:
			return []Change{{low, high}}
		default:
			s.of(untried[len(untried)/2])
		}
	}
	return nil
}

// known returns those strictly between two whose outcome is clear.
func (s *searcher) known(low, high int) (list []int) {
	for i := low + 1; i < high; i++ {
		if s.outcomes[i] != Unclear {
			list = append(list, i)
		}
	}
	return list
}

// another returns one between two ends that are alike whose outcome differs from theirs; 0: none was found.
func (s *searcher) another(low, high int) int {
	parts := [][2]int{{low, high}}
	for tried := 0; len(parts) > 0 && tried < mostTried && s.err == nil; tried++ {
		part := parts[0]
		parts = parts[1:]
		middle := (part[0] + part[1]) / 2
		if middle == part[0] {
			tried--
			continue
		}
		if outcome := s.of(middle); outcome != Unclear && outcome != s.of(low) {
			return middle
		}
		parts = append(parts, [2]int{part[0], middle}, [2]int{middle, part[1]})
	}
	return 0
}
