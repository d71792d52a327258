//go:build amd64 || arm64

package procfs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

// The protocol of sock_diag(7), and the kind of its messages.
const (
	netlinkSockDiag  = 4
	sockDiagByFamily = 20
)

// otherEnd asks the kernel for the name of the other end of a connected Unix socket. It returns "" for a socket that
// has none, of another family, or of a kernel that does not tell.
func otherEnd(name string) string {
	of, _ := unixSocket(name)
	return of.peer
}

// unixEnd is what the kernel tells every user of an end of a Unix socket.
type unixEnd struct {
	peer   string // the name of the other end; "": it is closed, or was never there
	unread int    // bytes
	isOver bool   // the other end writes no more
}

// unixSocket asks the kernel for a Unix socket: see sock_diag(7). It returns false for a socket of another family.
func unixSocket(name string) (of unixEnd, ok bool) {
	number, err := strconv.ParseUint(strings.Trim(strings.TrimPrefix(name, "socket:"), "[]"), 10, 32)
	if err != nil {
		return of, false
	}
	const (
		showPeer, showQueue           = 4, 16
		attributePeer, attributeQueue = 2, 4
		attributeShutdown             = 6
		readsNoMore                   = 1 // RCV_SHUTDOWN
		anyState, noCookie            = 0xffffffff, 0xffffffff
		headerSize                    = syscall.SizeofNlMsghdr
		answerSize                    = 16 // of struct unix_diag_msg, in front of the attributes
	)
	var request bytes.Buffer
	put := func(values ...any) {
		for _, value := range values {
			_ = binary.Write(&request, binary.NativeEndian, value) // a Buffer takes all
		}
	}
	put(uint32(headerSize+24), uint16(sockDiagByFamily), uint16(syscall.NLM_F_REQUEST), uint32(0), uint32(0))
	put(uint8(syscall.AF_UNIX), uint8(0), uint16(0), uint32(anyState), uint32(number), uint32(showPeer|showQueue), uint32(noCookie), uint32(noCookie))
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return of, false
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Sendto(fd, request.Bytes(), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return of, false
	}
	page := make([]byte, 4<<10)
	count, _, err := syscall.Recvfrom(fd, page, 0)
	if err != nil || count < headerSize+answerSize || binary.NativeEndian.Uint16(page[4:]) != sockDiagByFamily {
		return of, false // an error is another type
	}
	for rest := page[headerSize+answerSize : count]; len(rest) >= 8; {
		size := int(binary.NativeEndian.Uint16(rest))
		value := binary.NativeEndian.Uint32(rest[4:]) // a shorter one is padded
		switch binary.NativeEndian.Uint16(rest[2:]) {
		case attributePeer:
			if value != 0 { // 0: the other side has not accepted it yet
				of.peer = fmt.Sprintf("socket:[%d]", value)
			}
		case attributeQueue:
			of.unread = int(value)
		case attributeShutdown:
			of.isOver = rest[4]&readsNoMore != 0
		}
		if size = (size + 3) &^ 3; size < 4 || size > len(rest) {
			break
		}
		rest = rest[size:]
	}
	of.isOver = of.isOver || of.peer == ""
	return of, true
}
