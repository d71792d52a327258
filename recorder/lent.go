package recorder

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mcprec/mcprec/transport"
)

// lendFrom is the size from which on the memory of a short body is lent. To ask for as
// much anew, and to have it collected, costs more than all else that is done with it.
const lendFrom = 4 << 10

// lentBytes are memory for a short body. It is used again when nobody reads the body any
// more: a transport may do so for a while after it has answered.
type lentBytes struct {
	all     *[]byte
	text    []byte
	holders atomic.Int32
}

var lendable = sync.Pool{New: func() any {
	b := make([]byte, transport.EventLimit)
	return &b
}}

// lend lends memory for n bytes. Whoever asks for it calls free.
func lend(n int64) *lentBytes {
	l := &lentBytes{}
	if n < lendFrom {
		l.text = make([]byte, n)
		return l
	}
	l.all = lendable.Get().(*[]byte)
	l.text = (*l.all)[:n]
	l.holders.Store(1)
	return l
}

// free says that one of its holders needs the memory no more.
func (l *lentBytes) free() {
	if l.all != nil && l.holders.Add(-1) == 0 {
		lendable.Put(l.all)
	}
}

// keep has the memory never used again.
func (l *lentBytes) keep() { l.all = nil }

// open returns a reader of the bytes, which holds the memory until it is closed. Of few
// bytes it is one that net/http knows, and sends together with the head.
func (l *lentBytes) open() io.ReadCloser {
	if l.all == nil {
		return io.NopCloser(bytes.NewReader(l.text))
	}
	l.holders.Add(1)
	return &lentReader{of: l, rest: l.text}
}

// lentReader may be closed while another goroutine reads.
type lentReader struct {
	of     *lentBytes
	mu     sync.Mutex
	rest   []byte
	closed bool
}

func (r *lentReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(r.rest) == 0:
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *lentReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed, r.rest = true, nil
		r.of.free()
	}
	return nil
}
