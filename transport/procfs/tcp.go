package procfs

// Socket is what the kernel tells of a TCP socket.
type Socket struct {
	Name     string // as [Name] returns it; "": no process has accepted it yet
	IsListen bool
	InFlight bool // something that it has sent has not arrived
	Unread   int  // bytes that have arrived and that its process has not read
}
