package recorder

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decoder undoes a content coding for the log while the coded bytes pass. It is fed
// chunk by chunk and gives out at once all that can be decoded so far.
type decoder struct {
	open  func(io.Reader) (io.Reader, error)
	chunk []byte                // of the coded bytes, what was not read yet
	held  []byte                // the coded bytes since something came out
	next  func() ([]byte, bool) // nil until the first chunk
	halt  func()
	err   error // why it ended
	full  bool  // more of the chunk can be decoded than was given out at once
	in    int64 // coded bytes so far
	out   int64 // that became of them
}

// newDecoder returns a decoder of the coding, nil when none is needed; known is
// false when mcprec has none for it.
func newDecoder(coding string) (d *decoder, known bool) {
	var open func(io.Reader) (io.Reader, error)
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "", "identity":
		return nil, true
	case "gzip", "x-gzip":
		open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		open = inflate
	case "br":
		open = func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }
	case "zstd":
		open = unzstd
	default:
		return nil, false
	}
	return &decoder{open: open}, true
}

// inflate reads zlib's form, as the specification has it, or bare deflate, as some
// servers do.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// zstdWindow is the most that a body may have its reader look back (RFC 9659).
const zstdWindow = 8 << 20

// unzstd decodes in the goroutine that reads, and all frames of a body.
func unzstd(r io.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
}

// decoded yields the decoded bytes, and nil whenever it needs another chunk.
func (d *decoder) decoded(yield func([]byte) bool) {
	r, err := d.open(hungry{d, yield})
	buf := make([]byte, 32<<10)
	for err == nil {
		var n int
		if n, err = r.Read(buf); n > 0 && !yield(buf[:n]) {
			d.err = io.ErrUnexpectedEOF // this is not out
			return
		}
	}
	d.err = err
}

// stop lets go of the decoder.
func (d *decoder) stop() {
	if d.next != nil {
		d.halt()
	}
}

// hungry reads the decoder's chunk.
type hungry struct {
	d     *decoder
	yield func([]byte) bool
}

func (h hungry) Read(p []byte) (int, error) {
	for len(h.d.chunk) == 0 {
		if !h.yield(nil) {
			return 0, io.EOF
		}
	}
	n := copy(p, h.d.chunk)
	h.d.chunk = h.d.chunk[n:]
	return n, nil
}

// ReadByte has the decoder take no more than it needs: the rest stays in the chunk.
func (h hungry) ReadByte() (byte, error) {
	for len(h.d.chunk) == 0 {
		if !h.yield(nil) {
			return 0, io.EOF
		}
	}
	b := h.d.chunk[0]
	h.d.chunk = h.d.chunk[1:]
	return b, nil
}

// heldLimit is how much a body may have of what nothing comes out of.
const heldLimit = 1 << 20

const (
	outLimit   = 1 << 20  // given out at once, about
	ratioLimit = 1100     // as many bytes come of one, at most; of gzip's 1032
	ratioFrom  = 64 << 20 // once so many have come
)

// feed hands the decoded bytes of a chunk to sink, stretch by stretch. If it leaves the
// decoder full it is to be called again without a chunk. When it fails d.held has the coded
// bytes of which something may be missing.
func (d *decoder) feed(chunk []byte, sink func([]byte)) error {
	if len(chunk) == 0 && !d.full {
		return nil
	}
	if d.next == nil {
		d.next, d.halt = iter.Pull(d.decoded)
	}
	if !d.full {
		d.chunk = chunk
	}
	d.held = append(d.held, chunk...)
	d.in += int64(len(chunk))
	d.full = false
	for given := 0; ; {
		b, ok := d.next()
		given, d.out = given+len(b), d.out+int64(len(b))
		switch {
		case !ok && d.err == io.EOF && len(d.chunk) == 0:
			return nil
		case !ok:
			return fmt.Errorf("decode body: %w", d.err)
		case d.out > ratioFrom && d.out > ratioLimit*d.in:
			return fmt.Errorf("decode body: %d bytes became more than %d", d.in, d.out)
		case b == nil && len(d.held) > heldLimit:
			return fmt.Errorf("decode body: nothing came of it, after %d B", len(d.held))
		case b == nil:
			return nil
		}
		d.held = append(d.held[:0], d.chunk...)
		if sink(b); given >= outLimit {
			d.full = true
			return nil
		}
	}
}
