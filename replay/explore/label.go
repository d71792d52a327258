package explore

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
)

// label marks the goroutines of a settled run: who is started by one that has it
// has it, too. Stacks do not show it, and a profile that does shows no numbers of
// goroutines; so it tells how many there are, not which.
type label string

const labelKey = "mcprec run"

var labels atomic.Uint64

// newLabel puts a label that is nobody's on the caller.
func newLabel() label {
	l := label(fmt.Sprint(labels.Add(1)))
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(labelKey, string(l))))
	return l
}

// others counts who has the label but the caller.
func (l label) others() int {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return 0
	}
	n := -1
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(record, fmt.Sprintf("%q:%q", labelKey, string(l))) {
			continue
		}
		if i := strings.Index(record, " @ "); i >= 0 {
			alike := 0
			_, _ = fmt.Sscan(record[strings.LastIndexByte(record[:i], '\n')+1:i], &alike)
			n += alike
		}
	}
	return n
}
