package external

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/external/incoming"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
	"github.com/mcprec/mcprec/transport/streamable"
)

// web is a client of a server over Streamable HTTP. Each exchange has a TCP connection of its own, which does
// not block.
type web struct {
	process *child.Process
	tcp     *procfs.TCP
	url     *url.URL
	server  netip.AddrPort // where it listens
	header  http.Header    // goes with every request
	listens bool           // the client asks for the standalone stream
	port    int            // a descriptor that keeps the port for this process; -1: none

	session, version string
	first            transport.Frame // of the client
	exchanges        []*exchange
	frames           []transport.Frame
	toCut            map[uint64]bool // responses to these frames are cut
	wantsStream      bool            // the standalone stream is to be asked for
	hasEnded         bool            // nothing is resumed any more

	leaving *exchange // the standalone stream that another takes the place of; nil: none
	steps   int       // that were made on the way to that

	guest *web // another client of the same server; nil: there is none
}

// exchange is a request and the response to it.
type exchange struct {
	seq     uint64 // of the client's frame; 0: another request
	request []byte
	bodyAt  int // where its body begins
	conn    child.Connection

	// unanswered are the ids of the requests that went out in it and are not answered: it tells whether a client has a
	// reason to come back for the rest of the response. It is the state of one exchange, as an HTTP client keeps it; which
	// calls of the session are open is for the session of the player to say.
	unanswered map[mcp.Key]bool
	response   incoming.Response
	owes       bool // a server must answer it, if only with a status
	isHello    bool // initialize
	isReady    bool // notifications/initialized
	isAlone    bool // the standalone stream

	isDropped  bool // the client does not come back to it
	resumes    int  // how many requests in a row have brought nothing more of its stream
	resumption bool // this is a request for the rest of a stream
}

// startWebServer starts a server with a folder and, if its command or URL has the mark, with a port of its own,
// and waits until it listens or has ended.
func startWebServer(server Server, listens bool, at child.Place) (_ *child.Process, _ *web, err error) {
	w := &web{header: server.Header, listens: listens, port: -1, toCut: map[uint64]bool{}}
	p := child.New(w)
	w.process = p
	defer func() {
		if err != nil {
			p.Kill()
			err = fmt.Errorf("start %s: %w", server.Command[0], err)
		}
	}()
	if w.tcp, err = procfs.NewTCP(); err != nil {
		return nil, nil, err
	}
	var marks []string
	if server.hasPortMark() {
		var port int
		if port, w.port, err = freePort(); err != nil {
			return nil, nil, err
		}
		marks = append(marks, portMark, strconv.Itoa(port))
	}
	if w.url, err = url.Parse(child.WithMarks([]string{server.URL}, append(marks, child.FolderMark, at.Dir)...)[0]); err != nil {
		return nil, nil, err
	}
	addresses, err := loopback(w.url)
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := w.tcp.Find(addresses[0], addresses[0]); err != nil {
		return nil, nil, err
	}
	if w.isListening(addresses) {
		return nil, nil, fmt.Errorf("another process listens at %s already; %s in the URL and in the command is a port that is free", w.url.Host, portMark)
	}
	if err = p.StartQuiet(server.program(marks...), at); err != nil {
		return nil, nil, err
	}
	return p, w, w.await(addresses)
}

// await waits until the server listens, or is gone.
func (w *web) await(addresses []netip.AddrPort) error {
	const longest = 2 * time.Minute // of a start on a machine that is busy with something else
	began := time.Now()
	for {
		if w.process.IsInterrupted() {
			return child.ErrStopped
		}
		isGone := w.process.IsGone()
		if w.isListening(addresses) || isGone {
			return nil
		}
		look := w.process.Look()
		switch waited := time.Since(began); {
		case look.Activity == procfs.Busy && waited < longest, look.Activity == procfs.Ended, child.Confirming.IsWorthIt(look, waited):
		case w.isListening(addresses):
			return nil
		default:
			return fmt.Errorf("it does not listen at %s: %s", w.url.Host, look)
		}
		time.Sleep(500 * time.Microsecond) // until it has gone on
	}
}

// isListening reports whether a process listens at one of the addresses, which is then that of the server.
func (w *web) isListening(addresses []netip.AddrPort) bool {
	for _, address := range addresses {
		nobody := netip.AddrPortFrom(address.Addr(), 0)
		if socket, isThere, err := w.tcp.Find(address, nobody); err == nil && isThere && socket.IsListen {
			w.server = address
			w.process.Own(socket.Name) // only we connect to it
			return true
		}
	}
	return false
}

// freePort returns a port of this machine that nobody uses, and a descriptor that keeps other processes of
// mcprec from it. It is none of those that the kernel gives to clients.
func freePort() (port, keeper int, err error) {
	const lowest = 10000
	low := 32768
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if fields := strings.Fields(string(text)); len(fields) > 0 {
		if number, err := strconv.Atoi(fields[0]); err == nil && number > lowest {
			low = number
		}
	}
	for range 1000 {
		port = lowest + rand.IntN(low-lowest)
		if keeper, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
			return 0, -1, err
		}
		if err = syscall.Bind(keeper, &syscall.SockaddrUnix{Name: fmt.Sprintf("@mcprec-port-%d", port)}); err == nil {
			var fd int
			if fd, err = syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err == nil {
				err = syscall.Bind(fd, &syscall.SockaddrInet6{Port: port})
				child.CloseEnd(&fd)
			}
			if err == syscall.EAFNOSUPPORT || err == syscall.EADDRNOTAVAIL { // there is no IPv6 here
				err = nil
			}
		}
		if err == nil {
			return port, keeper, nil
		}
		child.CloseEnd(&keeper)
	}
	return 0, -1, fmt.Errorf("find a free port: %w", err)
}

// send implements connection: each frame is a request on a connection of its own. The server has accepted all
// of them before the first is written.
func (w *web) send(frames []sending, splits []int, rest func()) {
	var list []*exchange
	for _, s := range frames {
		client := w
		if s.isGuest {
			client = w.guest
		}
		if x := client.newPost(s); x != nil {
			list = append(list, x)
		}
	}
	if len(list) > 1 {
		rest() // until all are accepted
	}
	for i, x := range list {
		done := 0
		for _, at := range splits {
			if at += x.bodyAt; i == 0 && at > done && at < len(x.request) {
				x.conn.Write(x.request[done:at])
				done = at
				rest()
			}
		}
		x.conn.Write(x.request[done:])
	}
}

// newPost connects for a frame. In the revisions without sessions a cancellation is no request: the client
// hangs up.
func (w *web) newPost(s sending) *exchange {
	x := &exchange{seq: s.seq, unanswered: map[mcp.Key]bool{}, owes: true}
	var first transport.Message
	for i, m := range timeline.MessagesOf(s.frame) {
		if i == 0 {
			first = m
		}
		if m.Kind() == transport.Request {
			x.unanswered[mcp.KeyOf(m.ID)] = true
			x.owes = false // the answer itself is waited for
		}
		x.isHello = x.isHello || m.Method == mcp.MethodInitialize
		x.isReady = x.isReady || m.Method == mcp.NotificationInitialized
		if version := transport.MemberText(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion); version != "" {
			w.version = version
		}
		if id := timeline.CancelledID(m); id != nil && mcp.Stateless.Has(w.version) {
			for _, other := range w.exchanges {
				if other.unanswered[mcp.KeyOf(id)] {
					w.hangUp(other)
				}
			}
			return nil
		}
	}
	if w.first.Bytes == nil {
		w.first = s.frame
	}
	header := http.Header{"Content-Type": {mcp.MediaJSON}, "Accept": {mcp.MediaJSON + ", " + mcp.MediaEventStream}}
	if !x.isHello {
		streamable.Route(header, first, w.version)
	}
	w.connect(x, http.MethodPost, header, s.frame.Bytes)
	return x
}

// connect connects, and prepares the request.
func (w *web) connect(x *exchange, method string, header http.Header, body []byte) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, w.url.RequestURI(), w.url.Host)
	for name, values := range w.header {
		header[name] = values
	}
	if w.session != "" && !x.isHello {
		header.Set(mcp.HeaderSessionID, w.session)
	}
	if method != http.MethodPost && w.version != "" {
		header.Set(mcp.HeaderProtocolVersion, w.version)
	}
	if method == http.MethodPost {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	_ = header.Write(&text) // a Builder takes all
	text.WriteString("\r\n")
	x.bodyAt = text.Len()
	x.request = append([]byte(text.String()), body...)
	x.response.Method = method
	x.response.IsCutBehindID = w.toCut[x.seq] && method == http.MethodPost
	var err error
	if x.conn, err = child.Dial(w.server); err != nil {
		x.response.Broken = fmt.Sprintf("cannot connect: %v", err)
	}
	w.exchanges = append(w.exchanges, x)
}

// another implements exchanges.
func (w *web) another() client {
	w.guest = &web{process: w.process, tcp: w.tcp, url: w.url, server: w.server, header: w.header, listens: w.listens, port: -1}
	return w.guest
}

// isNamed implements exchanges.
func (w *web) isNamed() bool { return w.session != "" }

// all returns the exchanges of all clients.
func (w *web) all() []*exchange {
	if w.guest == nil {
		return w.exchanges
	}
	return slices.Concat(w.exchanges, w.guest.exchanges)
}

// Flush implements [child.Ends].
func (w *web) Flush() {
	for _, x := range w.all() {
		x.conn.Flush()
	}
}

// Read implements [child.Ends].
func (w *web) Read(process *child.Process) (isMore bool) {
	for _, x := range slices.Clone(w.exchanges) {
		isNew := x.conn.Read(process, func(data []byte, isEnd bool) {
			x.response.Take(data, isEnd)
			w.heard(x)
		})
		isMore = isMore || isNew
	}
	return w.guest != nil && w.guest.Read(process) || isMore
}

// heard takes what the response to an exchange has brought, and ends the connection if that is all.
func (w *web) heard(x *exchange) {
	r := &x.response
	if r.Head != nil && r.Head.StatusCode < 300 {
		if id := r.Head.Header.Get(mcp.HeaderSessionID); id != "" && x.isHello {
			w.session = id
		}
		if x.isReady && w.listens {
			w.wantsStream = true
			x.isReady = false
		}
	}
	for i, f := range r.Frames {
		r.Frames[i].Stream = x.seq // also what comes in the rest of it
		x.resumes = 0
		for _, m := range timeline.MessagesOf(f) {
			if m.Kind() != transport.Response {
				continue
			}
			for _, other := range w.exchanges {
				delete(other.unanswered, mcp.KeyOf(m.ID))
			}
			if version := transport.MemberText(m.Result, mcp.MemberProtocolVersion); x.isHello && version != "" {
				w.version = version
			}
		}
	}
	w.frames = append(w.frames, r.Frames...)
	r.Frames = nil
	if r.IsOver || r.Broken != "" || r.IsCut {
		x.conn.Close()
	}
}

// hangUp ends an exchange for good.
func (w *web) hangUp(x *exchange) {
	x.conn.Close()
	x.isDropped = true
	x.owes = false
}

// IsStill implements [child.Ends].
func (w *web) IsStill() bool {
	for _, x := range w.all() {
		if !x.conn.IsStill(w.tcp, w.process) {
			return false
		}
	}
	return true
}

// Close implements [child.Ends].
func (w *web) Close() {
	for _, x := range w.all() {
		x.conn.Close()
	}
	child.CloseEnd(&w.port)
	if w.tcp != nil {
		w.tcp.Close()
		w.tcp = nil
	}
}

// Said implements connection.
func (w *web) Said() (frames []transport.Frame) {
	frames, w.frames = w.frames, nil
	return frames
}

// Untaken implements connection.
func (w *web) Untaken() (bytes int) {
	for _, x := range w.all() {
		bytes += x.conn.Untaken(w.tcp)
	}
	return bytes
}

// Shut implements connection.
func (w *web) Shut() {}

// End implements connection: it deletes the session, if that has an id.
func (w *web) End() {
	w.hasEnded = true
	if w.session == "" {
		return
	}
	x := &exchange{owes: true}
	w.connect(x, http.MethodDelete, http.Header{}, nil)
	x.conn.Write(x.request)
}

// cut implements exchanges.
func (w *web) cut(seq uint64, comesBack bool) {
	if comesBack {
		w.toCut[seq] = true
		return
	}
	for _, x := range w.exchanges {
		if x.seq == seq {
			w.hangUp(x)
		}
	}
}

// reopen implements exchanges.
func (w *web) reopen(leavesFirst bool) bool {
	at := slices.IndexFunc(w.exchanges, func(x *exchange) bool { return x.isAlone && x.conn.IsOpen() })
	switch {
	case leavesFirst && w.steps == 0 && at >= 0 && w.exchanges[at].response.LastID != "":
		w.leaving = w.exchanges[at]
		w.hangUp(w.leaving)
	case leavesFirst && w.steps == 1:
		w.get(&exchange{seq: standalone, isAlone: true}, w.leaving.response.LastID)
	case leavesFirst:
		return false
	case w.steps == 0 && at >= 0:
		w.leaving = w.exchanges[at]
		w.get(&exchange{seq: standalone, isAlone: true}, w.leaving.response.LastID)
	case w.steps == 1:
		w.hangUp(w.leaving)
	case w.steps == 2 && at < 0: // the server has refused the second one
		w.get(&exchange{seq: standalone, isAlone: true}, "")
	default:
		return false
	}
	w.steps++
	return true
}

// proceed implements exchanges.
func (w *web) proceed() (isMore bool) {
	if w.hasEnded {
		return false
	}
	if w.wantsStream {
		w.wantsStream = false
		w.get(&exchange{seq: standalone, isAlone: true}, "")
		return true
	}
	const most = 2
	for i, x := range slices.Clone(w.exchanges) {
		isLeft := !x.conn.IsOpen() && !x.isDropped && x.response.IsStream() && x.resumes < most &&
			(x.isAlone || len(x.unanswered) > 0 && x.response.LastID != "")
		if !isLeft {
			continue
		}
		if !w.process.Pause(min(x.response.Retry, 10*time.Second)) { // which a client must wait
			return false
		}
		next := &exchange{seq: x.seq, unanswered: x.unanswered, isAlone: x.isAlone, isHello: x.isHello, resumes: x.resumes + 1, resumption: true}
		next.response.IsResumable = x.response.IsResumable
		w.exchanges = slices.Delete(w.exchanges, i, i+1)
		w.get(next, x.response.LastID)
		return true
	}
	return false
}

// get asks for a stream, or for the rest of one.
func (w *web) get(x *exchange, lastID string) {
	header := http.Header{"Accept": {mcp.MediaEventStream}}
	if lastID != "" {
		header.Set(mcp.HeaderLastEventID, lastID)
		x.response.LastID = lastID
	}
	w.connect(x, http.MethodGet, header, nil)
	x.conn.Write(x.request)
}

// outcome implements exchanges.
func (w *web) outcome(seq uint64) outcome {
	return w.outcomeOf(func(x *exchange) bool { return x.seq == seq })
}

// outcomeUnder implements exchanges.
func (w *web) outcomeUnder(id mcp.Key) outcome {
	return w.outcomeOf(func(x *exchange) bool { return x.unanswered[id] })
}

// outcomeOf says what became of the last response that is the one.
func (w *web) outcomeOf(isIt func(*exchange) bool) (o outcome) {
	for _, x := range w.exchanges {
		if isIt(x) {
			o = outcome{isOver: !x.conn.IsOpen(), isResumable: x.response.IsResumable}
			if o.isOver {
				o.how = x.response.String()
			}
			o.isDeclined = o.isOver && x.resumption && !x.response.IsStream()
		}
	}
	return o
}

// owed implements exchanges.
func (w *web) owed() (seqs []uint64) {
	for _, x := range w.exchanges {
		if x.owes && x.response.Head == nil && x.response.Broken == "" {
			seqs = append(seqs, x.seq)
		}
	}
	return seqs
}

// open implements exchanges. A session without an id is not deleted.
func (w *web) open() (seqs []uint64) {
	for _, x := range w.exchanges {
		if w.session != "" && x.conn.IsOpen() && !x.isDropped && len(x.unanswered) > 0 {
			seqs = append(seqs, x.seq)
		}
	}
	return seqs
}

// again implements exchanges.
func (w *web) again() bool {
	for _, x := range w.exchanges {
		w.hangUp(x)
	}
	w.session = ""
	isHello := slices.ContainsFunc(timeline.MessagesOf(w.first), func(m transport.Message) bool { return m.Method == mcp.MethodInitialize })
	if !isHello {
		return false
	}
	x := w.newPost(sending{frame: w.first})
	x.owes = true
	x.conn.Write(x.request)
	return true
}
