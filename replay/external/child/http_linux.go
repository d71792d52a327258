package child

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/procfs"
)

// mostHead is how many bytes the head of a request may have.
const mostHead = 1 << 20

// HTTPListener is a server over HTTP/1.1 at an address of this machine, for a client under test. What is written to
// a response goes out with the next flush, so that what was written to several goes out at once. Each connection
// carries one request: a client that kept idle connections would have timers for them.
type HTTPListener struct {
	process  *Process
	tcp      *procfs.TCP
	socket   int // -1: it does not listen any more
	address  netip.AddrPort
	accepted []*HTTPExchange // in the order in which the connections came
	arrived  []*HTTPExchange // their request is whole, and Requests has not returned them
	left     []*HTTPExchange // the client has hung up, and HungUp has not returned them
	count    uint64          // of the exchanges whose request has come whole
}

// HTTPExchange is a connection of the client, with the request and the response on it.
type HTTPExchange struct {
	Number  uint64 // from 1, in the order in which the requests came whole
	Request *http.Request
	Body    []byte // of the request

	conn       Connection
	rest       []byte // of the request: not taken apart yet
	isWelcomed bool   // the client was told to send the body
	isChunked  bool   // the response is a stream
	isOver     bool   // the response is whole, broken off, or nobody reads it
}

// listen listens at a port that the kernel chooses.
func (l *HTTPListener) listen() (err error) {
	if l.tcp, err = procfs.NewTCP(); err != nil {
		return err
	}
	if l.socket, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0); err != nil {
		return err
	}
	if err := syscall.Bind(l.socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := syscall.Listen(l.socket, 128); err != nil {
		return err
	}
	name, err := syscall.Getsockname(l.socket)
	if err == nil {
		l.address = addressOf(name)
	}
	return err
}

// url returns the address of the server, for a client.
func (l *HTTPListener) url() string { return "http://" + l.address.String() + "/mcp" }

// Flush implements [Ends].
func (l *HTTPListener) Flush() {
	for _, x := range l.accepted {
		x.conn.Flush()
	}
}

// Read implements [Ends].
func (l *HTTPListener) Read(process *Process) (isMore bool) {
	isMore = l.accept()
	for _, x := range l.accepted {
		isNew := x.conn.Read(process, func(data []byte, isEnd bool) {
			if isEnd {
				l.leave(x)
				return
			}
			x.rest = append(x.rest, data...)
			l.take(x)
		})
		isMore = isMore || isNew
	}
	return isMore
}

// accept takes the connections that have come, and reports whether there were any.
func (l *HTTPListener) accept() (isMore bool) {
	for l.socket >= 0 {
		fd, from, err := syscall.Accept4(l.socket, syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return isMore
		}
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		l.accepted = append(l.accepted, &HTTPExchange{conn: Connection{fd: fd, ours: l.address, theirs: addressOf(from)}})
		isMore = true
	}
	return isMore
}

// leave notes that the client has hung up.
func (l *HTTPListener) leave(x *HTTPExchange) {
	x.conn.Close()
	if x.Number != 0 && !x.isOver {
		l.left = append(l.left, x)
	}
	x.isOver = true
}

// take takes the request apart if it is whole. What is no request, or too long, is answered at once.
func (l *HTTPListener) take(x *HTTPExchange) {
	if x.Number != 0 || !bytes.Contains(x.rest, []byte("\r\n\r\n")) {
		if x.Number != 0 || len(x.rest) > mostHead {
			x.rest = nil
		}
		return
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(x.rest)))
	if err != nil {
		x.Respond(http.StatusBadRequest, nil, []byte(err.Error()))
		return
	}
	if request.ContentLength > int64(len(x.rest)) && request.ContentLength <= transport.MaxMessage {
		x.welcome(request)
		return
	}
	body, err := io.ReadAll(request.Body)
	switch {
	case len(body) > transport.MaxMessage || request.ContentLength > transport.MaxMessage:
		x.Respond(http.StatusRequestEntityTooLarge, nil, nil)
	case errors.Is(err, io.ErrUnexpectedEOF):
		x.welcome(request)
	case err != nil:
		x.Respond(http.StatusBadRequest, nil, []byte(err.Error()))
	default:
		l.count++
		x.Number = l.count
		x.Request, x.Body, x.rest = request, body, nil
		l.arrived = append(l.arrived, x)
	}
}

// welcome tells a client that waits for it to send the body.
func (x *HTTPExchange) welcome(request *http.Request) {
	if !x.isWelcomed && strings.EqualFold(request.Header.Get("Expect"), "100-continue") {
		x.isWelcomed = true
		x.conn.waiting = append(x.conn.waiting, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
}

// Requests returns the exchanges whose request has come since the last call.
func (l *HTTPListener) Requests() (list []*HTTPExchange) {
	list, l.arrived = l.arrived, nil
	return list
}

// HungUp returns the exchanges that the client has ended since the last call, before their response was over.
func (l *HTTPListener) HungUp() (list []*HTTPExchange) {
	list, l.left = l.left, nil
	return list
}

// Respond writes a whole response.
func (x *HTTPExchange) Respond(status int, header http.Header, body []byte) {
	x.head(status, header, fmt.Sprintf("Content-Length: %d\r\n", len(body)))
	if x.Request == nil || x.Request.Method != http.MethodHead {
		x.conn.waiting = append(x.conn.waiting, body...)
	}
	x.BreakOff()
}

// Begin writes the head of a response whose body comes in pieces.
func (x *HTTPExchange) Begin(header http.Header) {
	x.isChunked = true
	x.head(http.StatusOK, header, "Transfer-Encoding: chunked\r\n")
}

func (x *HTTPExchange) head(status int, header http.Header, length string) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	_ = header.Write(&text) // a Buffer takes all
	text.WriteString(length + "Connection: close\r\n\r\n")
	x.conn.waiting = append(x.conn.waiting, text.Bytes()...)
}

// Piece writes a piece of the body.
func (x *HTTPExchange) Piece(data []byte) {
	if len(data) > 0 && !x.isOver {
		x.conn.waiting = append(x.conn.waiting, strconv.FormatInt(int64(len(data)), 16)+"\r\n"...)
		x.conn.waiting = append(append(x.conn.waiting, data...), "\r\n"...)
	}
}

// Finish ends a response whose body came in pieces.
func (x *HTTPExchange) Finish() {
	if !x.isOver {
		x.conn.waiting = append(x.conn.waiting, "0\r\n\r\n"...)
	}
	x.BreakOff()
}

// BreakOff closes the connection behind what was written.
func (x *HTTPExchange) BreakOff() {
	x.isOver = true
	x.conn.isLast = true
}

// IsStill implements [Ends].
func (l *HTTPListener) IsStill() bool {
	for _, x := range l.accepted {
		if !x.conn.IsStill(l.tcp, l.process) {
			return false
		}
	}
	return true
}

// Untaken returns how many bytes the client has not read.
func (l *HTTPListener) Untaken() (bytes int) {
	for _, x := range l.accepted {
		bytes += x.conn.Untaken(l.tcp)
	}
	return bytes
}

// HangUp ends the server: it listens no more, and all connections break.
func (l *HTTPListener) HangUp() {
	CloseEnd(&l.socket)
	for _, x := range l.accepted {
		x.conn.Flush()
		x.conn.Close()
		x.isOver = true
	}
}

// Close implements [Ends].
func (l *HTTPListener) Close() {
	l.HangUp()
	if l.tcp != nil {
		l.tcp.Close()
		l.tcp = nil
	}
}

// IsOpen reports whether clients can still connect.
func (l *HTTPListener) IsOpen() bool { return l.socket >= 0 }

// StartHTTPClient starts a client, and a server that it can ask. mark stands in its command and environment for the URL.
func StartHTTPClient(program Program, mark string, at Place) (*Process, *HTTPListener, error) {
	l := &HTTPListener{socket: -1}
	l.process = New(l)
	err := l.listen()
	if err == nil {
		err = l.process.StartQuiet(program, at, mark, l.url())
	}
	if err != nil {
		l.process.Kill()
		return nil, nil, fmt.Errorf("start %s: %w", program.Command[0], err)
	}
	return l.process, l, nil
}
