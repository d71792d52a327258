//go:build !unix

package explore

import "time"

// processTime: this system does not tell.
func processTime() (time.Duration, bool) { return 0, false }
