package procfs

import (
	"errors"
	"time"
)

// Seen is what a [List] shows of a process.
type Seen struct {
	PID, Parent int
	Birth       string // as in an [ID]
	User        int    // the number of its user
	Name        string // of its program, as the system shortens it
	Command     []string
	State       State
	Age         time.Duration // since it was started
	Memory      int64         // bytes that are resident
	Pipes       []Descriptor  // its pipes and sockets; nil if IsHidden
	IsHidden    bool          // it is another user's, and its descriptors are not shown
}

// Descriptor is a pipe or a socket that a process has open.
type Descriptor struct {
	FD     int
	File   string // "pipe:[4711]" or "socket:[4712]"
	Reads  bool
	Writes bool
}

// At returns the file of a descriptor; "" if it is no pipe or socket.
func (r Seen) At(fd int) string {
	for _, d := range r.Pipes {
		if d.FD == fd {
			return d.File
		}
	}
	return ""
}

// ID returns what tells the process from a later one with its number.
func (r Seen) ID() ID { return ID{PID: r.PID, Birth: r.Birth} }

// Unread is what lies in a pipe or in a Unix socket, and nobody has read.
type Unread struct {
	Size  int
	Begin []byte // the first bytes of it; nil where they may not be looked at
	// IsOver is set if nothing can come behind it: nobody holds the other end.
	IsOver bool
	Room   int // bytes that a pipe holds at most; 0: not known
}

// ErrNotYours is the error for a process of another user, or one that does not let itself be looked at.
var ErrNotYours = errors.New("not yours to read")
