//go:build !unix

package recorder

import "os"

// tellsEmpty: serverOutput does not find out when a pipe is empty. A pipe from which nothing came
// for Grace is taken for empty.
const tellsEmpty = false

func (o *serverOutput) wait() (exited bool) { return false }

func (o *serverOutput) empty() bool { return false }

// unread cannot find out. To go on does less harm than to cut a session off.
func unread(*os.File) bool { return false }

func asksToEnd(os.Signal) bool { return true }
