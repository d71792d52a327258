//go:build !linux

package procstate

import "github.com/mcprec/mcprec/store"

func of(id store.ProcessID) Process { return Process{PID: id.PID, State: Unknown} }

func birth(int) string { return "" }
