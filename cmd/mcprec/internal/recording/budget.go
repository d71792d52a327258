package recording

import (
	"context"
	"sync"
	"time"
)

// tidyAfter is how long a session has the machine for itself before its recorder looks after the
// budget of the store. The recorder of a shorter session does so when it has ended.
const tidyAfter = 2 * time.Second

// tidyBeside enforces the budget of the store once, beside the session. The caller calls end, which
// waits for it.
func (r *recording) tidyBeside() (end func()) {
	if r.db == nil {
		return func() {}
	}
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-time.After(tidyAfter):
			r.tidy(0)
		case <-ended:
		}
	})
	return func() {
		close(ended)
		running.Wait()
	}
}

// tidyPatience is how long deleting may put off the end of a recorder whose session has ended.
const tidyPatience = time.Second

// tidy enforces the budget of the store, unless another recorder does just now. It reports
// the first deletion in a store, and with -v each.
func (r *recording) tidy(patience time.Duration) {
	gone, first, err := r.Budget.Enforce(context.Background(), r.db.Store, time.Now(), patience)
	if err != nil {
		r.say("%v", err)
	}
	text := gone.Text()
	if text != "" && (first || r.Verbose) {
		r.say("%s, as the limit of the store asks; mcprec help storage", text)
	}
}
