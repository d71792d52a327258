//go:build !linux

package recorder

import "os"

// pipeQueue knows nothing here: other systems tell what a pipe holds only to its reader.
type pipeQueue struct{ known bool }

func newPipeQueue(*os.File) pipeQueue { return pipeQueue{} }

func (pipeQueue) held() queued { return queued{} }
