package explore

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/hang"
)

// openWaits are the waits of the operations that had not returned, at one moment of a run: for the
// report of a check that fails later, when all have returned.
type openWaits struct {
	when  string
	waits []hang.Wait
}

// openNow returns the waits of a traced run; nil for another run, or if they are known already. The
// gate is locked.
func openNow(run *Run) *openWaits {
	if run.tracer == nil || run.open != nil {
		return nil
	}
	scene := run.scene()
	scene.Operations = slices.DeleteFunc(scene.Operations, func(op *hang.Operation) bool { return !op.Started })
	return &openWaits{waits: hang.Diagnose(scene).Waits}
}

// keepOpen keeps the waits of the moment before one of these operations failed; or of this moment, if
// before is nil. The gate is locked.
func keepOpen(run *Run, before *openWaits, operations []*Operation) {
	if run.tracer == nil || run.open != nil {
		return
	}
	for _, op := range operations {
		if !op.done || op.err == nil {
			continue
		}
		if before == nil {
			before = openNow(run)
		}
		run.open = before
		run.open.when = fmt.Sprintf("when %s failed, after step %d", op.phrase(), len(run.steps))
		return
	}
}
