package recorder

import (
	"io"
	"net/http"
	"sync"
)

// relay passes the answer of one exchange on. Whoever runs it writes to the spool in its
// own goroutine, which costs the least: to have another do it takes two changes of
// goroutine an event, each of which may wake a processor. If that write is overdue,
// another goroutine goes on with the relay where this one waits, as with a pump. So it is
// none of those that belong to somebody else: of the server's, which waits for its end.
type relay struct {
	w        http.ResponseWriter
	flush    *http.ResponseController
	resp     *http.Response
	body     *downloadBody
	source   io.Reader // what is passed on of the body
	together bool      // the head goes on with the first of the body
	buffers  *sync.Pool
	buf      *[]byte
	n        int // of buf, read and not yet passed on
	err      error
	headed   bool
	ended    chan any // gets what it panicked with, or nil
}

// shortAnswer is how long a body is that comes at once, nearly always.
const shortAnswer = 4 << 10

// pass passes the answer on, whose head is copied. It does not return when that fails:
// the client must not take what came for the whole.
func (l *relay) pass() {
	l.flush = http.NewResponseController(l.w)
	if l.buf, _ = l.buffers.Get().(*[]byte); l.buf == nil {
		l.buf = newBuffer()
	}
	l.ended = make(chan any, 1)
	switch {
	case l.resp.Body == http.NoBody:
		l.run()
	case l.together && l.resp.ContentLength <= shortAnswer: // one write: a goroutine costs as much
		l.source = l.body
		l.run()
	default:
		go l.run()
	}
	if fault := <-l.ended; fault != nil {
		panic(fault)
	}
	l.buffers.Put(l.buf)
}

func newBuffer() *[]byte {
	b := make([]byte, readSize)
	return &b
}

// run passes on until the answer ends, or another has taken over.
func (l *relay) run() {
	l.guarded(func() bool {
		if !l.together {
			l.head()
			if l.resp.Body != http.NoBody {
				_ = l.flush.Flush()
			}
		}
		return l.loop()
	})
}

// guarded says how what it calls ended; not when that has been left behind.
func (l *relay) guarded(f func() (mine bool)) {
	mine := true
	defer func() {
		if fault := recover(); fault != nil || mine {
			l.ended <- fault
		}
	}()
	mine = f()
}

func (l *relay) loop() (mine bool) {
	for l.err == nil {
		if !l.read() {
			return false
		}
		l.forward()
	}
	copyTrailer(l.w.Header(), l.resp)
	return true
}

// read reads the next bytes and records them.
func (l *relay) read() (mine bool) {
	if l.source != nil {
		l.n, l.err = l.source.Read(*l.buf)
		return true
	}
	n, mine, err := l.body.readHere(*l.buf, l.succeed)
	if mine {
		l.n, l.err = n, err
	}
	return mine
}

// succeed takes the relay over.
func (l *relay) succeed(n int, err error) {
	l.guarded(func() bool {
		l.n, l.err = n, err
		l.forward()
		l.buf = newBuffer() // that write may still read the other
		return l.loop()
	})
}

func (l *relay) head() {
	l.headed = true
	l.w.WriteHeader(l.resp.StatusCode)
}

// forward passes on what was read.
func (l *relay) forward() {
	if !l.headed {
		l.head()
	}
	if _, err := l.w.Write((*l.buf)[:l.n]); l.n > 0 && err != nil {
		panic(http.ErrAbortHandler)
	}
	if l.err != io.EOF && (l.n > 0 || l.err != nil) {
		_ = l.flush.Flush()
	}
	if l.err != nil && l.err != io.EOF {
		panic(http.ErrAbortHandler)
	}
}

// readHere is Read for a goroutine that may be left behind. goOn gets what was read.
func (b *downloadBody) readHere(p []byte, goOn func(n int, err error)) (n int, mine bool, err error) {
	b.x.taken(&b.x.down)
	n, err = b.ReadCloser.Read(p)
	if n == 0 && err == nil {
		return n, true, nil
	}
	what, cause := b.ending(err)
	mine = b.x.downloadHere(p[:n], endOf(err), what, cause, func() { goOn(n, err) })
	return n, mine, err
}
