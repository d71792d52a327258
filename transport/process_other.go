//go:build !unix

package transport

import "os"

// terminate is the signal by which CommandConn.Close asks a process to end: there is no
// gentler one here.
var terminate os.Signal = os.Kill

// killedBy returns nil: processes are not ended by signals here.
func killedBy(*os.ProcessState) os.Signal { return nil }
