package procfs

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// Environ returns the environment with which a process of this user began its program: each setting, with a zero
// byte behind it. A process that is about to begin a program shows none for a moment, or a part of the one before,
// and Environ waits until it has begun. ended reports that there is no such process any more. Of another user's
// process Environ returns nil.
func Environ(pid int) (environ []byte, ended bool) {
	const (
		longest      = 5 * time.Second // a disk may keep a program
		largest      = 8 << 20         // more than the kernel takes
		exiting      = 0x4             // PF_EXITING of the kernel: it has no memory any more, and is soon a zombie
		kernelThread = 0x200000        // PF_KTHREAD
	)
	path := fmt.Sprintf("/proc/%d/environ", pid)
	for began := time.Now(); time.Since(began) < longest; time.Sleep(20 * time.Microsecond) {
		s, lives := readStat(pid)
		size := s.environEnd - s.environ
		switch {
		case !lives || s.flags&exiting != 0:
			return nil, true
		case !showsEnviron():
			environ, err := os.ReadFile(path)
			return environ, os.IsNotExist(err)
		case s.flags&kernelThread != 0, s.code != 0 && size == 0, size > largest:
			return nil, false
		case s.code == 0:
			continue
		}
		environ := make([]byte, size+1)
		file, err := os.Open(path)
		if os.IsPermission(err) {
			return nil, false
		}
		if err == nil {
			count, _ := file.Read(environ) // one call, so that all of it is of one program
			_ = file.Close()
			if uint64(count) == size {
				return environ[:size], false
			}
		}
	}
	return nil, false
}

// Program returns the path of the program that a process runs; "" if the system does not show it.
func Program(pid int) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return path
}

// showsEnviron reports whether the system tells where the environment of a process is.
var showsEnviron = sync.OnceValue(func() bool {
	s, _ := readStat(os.Getpid())
	return s.environEnd != 0
})
