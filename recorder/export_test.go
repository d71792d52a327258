package recorder

import "github.com/mcprec/mcprec/recorder/outage"

// Holding has a recorder hold what waits for the disk within a budget of the test's.
func Holding(b *outage.Budget) Option {
	return func(r *Recorder) { r.disk.Budget = b }
}
