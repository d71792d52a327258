//go:build amd64 || arm64

package procfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// TCP asks the kernel about TCP sockets of this machine, by sock_diag(7). It is not safe for concurrent use.
type TCP struct {
	fd   int
	page []byte
}

// NewTCP returns a TCP. Close ends it.
func NewTCP() (*TCP, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return nil, fmt.Errorf("ask the kernel about sockets: %w", err)
	}
	return &TCP{fd: fd, page: make([]byte, 4<<10)}, nil
}

// Close frees what was opened.
func (t *TCP) Close() { _ = syscall.Close(t.fd) }

// Find returns the socket that is at the address local and connected with the address remote. If no such
// socket exists, Find may return the listener at local. Pass remote port 0 to ask for the listener. It
// returns false if there is neither.
func (t *TCP) Find(local, remote netip.AddrPort) (s Socket, isThere bool, err error) {
	const (
		sizeOfRequest = 56 // struct inet_diag_req_v2
		sizeOfAnswer  = 72 // struct inet_diag_msg
		listening     = 10 // TCP_LISTEN
		retransmit    = 1  // the timer that runs as long as something is not acknowledged
		noCookie      = ^uint32(0)
		allStates     = ^uint32(0)
	)
	family := uint8(syscall.AF_INET6)
	if local.Addr().Is4() {
		family = syscall.AF_INET
	}
	address := func(a netip.Addr) (field [16]byte) { copy(field[:], a.AsSlice()); return field }
	var request bytes.Buffer
	put := func(order binary.ByteOrder, values ...any) {
		for _, value := range values {
			_ = binary.Write(&request, order, value) // a Buffer takes all
		}
	}
	put(binary.NativeEndian, uint32(syscall.SizeofNlMsghdr+sizeOfRequest), uint16(sockDiagByFamily), uint16(syscall.NLM_F_REQUEST), uint32(0), uint32(0))
	put(binary.NativeEndian, family, uint8(syscall.IPPROTO_TCP), uint8(0), uint8(0), allStates)
	put(binary.BigEndian, local.Port(), remote.Port(), address(local.Addr()), address(remote.Addr()))
	put(binary.NativeEndian, uint32(0), noCookie, noCookie)
	again := func(do func() error) (err error) {
		for err = do(); err == syscall.EINTR; err = do() {
		}
		return err
	}
	if err := again(func() error {
		return syscall.Sendto(t.fd, request.Bytes(), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK})
	}); err != nil {
		return s, false, fmt.Errorf("ask the kernel about a socket: %w", err)
	}
	count := 0
	if err := again(func() (err error) { count, _, err = syscall.Recvfrom(t.fd, t.page, 0); return err }); err != nil {
		return s, false, fmt.Errorf("ask the kernel about a socket: %w", err)
	}
	answer := t.page[:count]
	if count < syscall.SizeofNlMsghdr+4 {
		return s, false, errors.New("ask the kernel about a socket: a short answer")
	}
	kind := binary.NativeEndian.Uint16(answer[4:])
	answer = answer[syscall.SizeofNlMsghdr:]
	if kind == syscall.NLMSG_ERROR {
		if errno := syscall.Errno(-int32(binary.NativeEndian.Uint32(answer))); errno != syscall.ENOENT {
			return s, false, fmt.Errorf("ask the kernel about a socket: %w", errno)
		}
		return s, false, nil
	}
	if kind != sockDiagByFamily || len(answer) < sizeOfAnswer {
		return s, false, fmt.Errorf("ask the kernel about a socket: an answer of kind %d", kind)
	}
	s.IsListen = answer[1] == listening
	s.InFlight = answer[2] == retransmit
	if !s.IsListen {
		s.Unread = int(binary.NativeEndian.Uint32(answer[56:]))
	}
	if inode := binary.NativeEndian.Uint32(answer[68:]); inode != 0 {
		s.Name = fmt.Sprintf("socket:[%d]", inode)
	}
	return s, true, nil
}
