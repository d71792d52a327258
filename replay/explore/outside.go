package explore

import (
	"errors"
	"testing"
	"time"
)

// Judge is Search where there is no test. What is wrong with the plan is an
// error; what the runs gave is in the report.
//
// The bubbles are the same: testing/synctest wants a *testing.T only to hang the
// T of the bubble on, and an empty one will do. Nothing is printed, no flag is
// defined, and the process does not end with it.
func Judge(p Plan) (Report, error) {
	if p.Setup == nil {
		return Report{}, errors.New("explore: the plan has no Setup")
	}
	if p.Token != "" {
		if _, err := ParseToken(p.Token); err != nil {
			return Report{}, err
		}
	}
	return explore(new(testing.T), p, time.Time{}), nil
}
