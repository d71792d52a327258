package explore

// pctDepth is the number of orders a bug may need that pct is made to find.
const pctDepth = 3

// pct is probabilistic concurrency testing over chains: the steps of one kind in
// one direction are a chain, which has one priority.
func pct(seed uint64, run, length int) Chooser {
	r := dice(seed, run)
	var priority [classes]int
	for i, p := range r.Perm(classes) {
		priority[i] = p
	}
	var drops [pctDepth - 1]int
	for i := range drops {
		drops[i] = 1 + r.IntN(max(length, 1))
	}
	bottom := 0
	return func(at int, enabled []Step) int {
		i := highest(enabled, &priority)
		for _, d := range drops {
			if d == at {
				bottom--
				priority[enabled[i].class()] = bottom
				i = highest(enabled, &priority)
			}
		}
		return i
	}
}

// highest returns the first step of the chain with the highest priority.
func highest(enabled []Step, priority *[classes]int) int {
	best := 0
	for i, s := range enabled {
		if priority[s.class()] > priority[enabled[best].class()] {
			best = i
		}
	}
	return best
}
