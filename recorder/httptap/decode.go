package httptap

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decoder undoes content codings for the recording while the coded bytes pass. For each chunk it
// returns at once every byte that can be decoded so far.
type decoder struct {
	open  opener
	chunk []byte                // coded bytes, not read yet
	last  bool                  // no other chunk follows
	held  []byte                // the coded bytes since the last decoded byte
	next  func() ([]byte, bool) // nil until the first chunk
	halt  func()
	err   error // the reason of the end
	full  bool  // there is more output than outLimit allows
	in    int64 // coded bytes so far
	out   int64 // decoded bytes so far
}

// opener returns a reader that undoes a coding.
type opener func(chunkReader) (io.Reader, error)

// errTrailing: bytes follow the end of the coded body.
var errTrailing = errors.New("bytes follow its end")

// newDecoder returns a decoder for the value of Content-Encoding, or nil if the body is not coded.
// known is false if the coding cannot be undone, or is several in a row.
func newDecoder(list string) (d *decoder, known bool) {
	var found opener
	for coding := range strings.SplitSeq(list, ",") {
		var open opener
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			open = func(src chunkReader) (io.Reader, error) { return &gunzip{src: src}, nil }
		case "deflate":
			open = inflate
		case "br":
			open = func(src chunkReader) (io.Reader, error) {
				excessive := func(err error) bool { return err.Error() == "brotli: excessive input" } // not exported
				return &trailingReader{Reader: brotli.NewReader(src), isTrailing: excessive}, nil
			}
		case "zstd":
			open = func(src chunkReader) (io.Reader, error) {
				z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
				noFrame := func(err error) bool { return errors.Is(err, zstd.ErrMagicMismatch) }
				return &trailingReader{Reader: z, isTrailing: noFrame}, err
			}
		}
		if open == nil || found != nil {
			return nil, false
		}
		found = open
	}
	if found == nil {
		return nil, true
	}
	return &decoder{open: found}, true
}

// gunzip reads the members of a gzip body. [gzip.Reader] returns the end of a member only when it
// has the header of the next; gunzip returns it at once.
type gunzip struct {
	src    chunkReader
	member *gzip.Reader
	within bool // the member has not ended
}

func (g *gunzip) Read(data []byte) (int, error) {
	for {
		if !g.within {
			head, err := g.src.Peek(1)
			switch {
			case err != nil:
			case g.member == nil:
				g.member, err = gzip.NewReader(g.src)
			case head[0] != 0x1f: // with which each member begins
				err = errTrailing
			default:
				err = g.member.Reset(g.src)
			}
			if err != nil {
				return 0, err
			}
			g.member.Multistream(false)
		}
		n, err := g.member.Read(data)
		g.within = err != io.EOF
		if g.within {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

// inflate reads zlib's format, as the specification says, or bare deflate, as some servers send.
func inflate(src chunkReader) (io.Reader, error) {
	head, err := src.Peek(2)
	if err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		z, err := zlib.NewReader(src)
		return inflated{z, src}, err
	}
	return inflated{flate.NewReader(src), src}, nil
}

// inflated fails with errTrailing if bytes follow the end.
type inflated struct {
	io.Reader
	src chunkReader
}

func (i inflated) Read(data []byte) (int, error) {
	n, err := i.Reader.Read(data)
	if err != io.EOF {
		return n, err
	}
	if n > 0 {
		return n, nil // the next Read returns the end again
	}
	if _, err = i.src.Peek(1); err == nil {
		err = errTrailing
	}
	return 0, err
}

// zstdWindow is the largest window that a body may use (RFC 9659).
const zstdWindow = 8 << 20

// trailingReader returns errTrailing for the error of a reader that bytes follow the end.
type trailingReader struct {
	io.Reader
	isTrailing func(error) bool
	came       bool // a byte was decoded: the body is coded
}

func (t *trailingReader) Read(data []byte) (int, error) {
	n, err := t.Reader.Read(data)
	t.came = t.came || n > 0
	if t.came && err != nil && t.isTrailing(err) {
		err = errTrailing
	}
	return n, err
}

// decoded yields the decoded bytes, and nil to ask for another chunk.
func (d *decoder) decoded(yield func([]byte) bool) {
	r, err := d.open(chunkReader{d, yield})
	buf := make([]byte, 32<<10)
	for err == nil {
		var n int
		if n, err = r.Read(buf); n > 0 && !yield(buf[:n]) {
			err = io.ErrUnexpectedEOF // the decoder was stopped
		}
	}
	d.err = err
}

// chunkReader reads the decoder's chunks, byte by byte if a coding has to take no byte too many.
type chunkReader struct {
	d     *decoder
	yield func([]byte) bool
}

// more waits for a chunk if there is none, and reports whether there is one now.
func (c chunkReader) more() bool {
	for len(c.d.chunk) == 0 {
		if c.d.last || !c.yield(nil) {
			return false
		}
	}
	return true
}

func (c chunkReader) Read(data []byte) (int, error) {
	if !c.more() {
		return 0, io.EOF
	}
	n := copy(data, c.d.chunk)
	c.d.chunk = c.d.chunk[n:]
	return n, nil
}

// ReadByte keeps a decoder from taking more than it needs.
func (c chunkReader) ReadByte() (byte, error) {
	if !c.more() {
		return 0, io.EOF
	}
	b := c.d.chunk[0]
	c.d.chunk = c.d.chunk[1:]
	return b, nil
}

// Peek returns the next bytes, which stay in the chunk.
func (c chunkReader) Peek(n int) ([]byte, error) {
	var ahead []byte // the bytes of short chunks
	for len(ahead)+len(c.d.chunk) < n {
		ahead = append(ahead, c.d.chunk...)
		c.d.chunk = nil
		if !c.more() {
			c.d.chunk = ahead
			return ahead, io.EOF
		}
	}
	if len(ahead) > 0 {
		c.d.chunk = append(ahead, c.d.chunk...)
	}
	return c.d.chunk[:n], nil
}

// heldLimit is how many coded bytes may come without a decoded one.
const heldLimit = 1 << 20

const (
	outLimit   = 1 << 20  // about how many bytes one call of feed gives
	ratioLimit = 1100     // how many bytes one coded byte may become; gzip reaches 1032
	ratioFrom  = 64 << 20 // from how many decoded bytes on ratioLimit holds
)

// feed gives the decoded bytes of a chunk to sink, and with the last chunk, which may be empty,
// the rest. If the decoder is full afterwards, call feed again without a chunk. If feed fails,
// d.held has the coded bytes that may not be decoded completely.
func (d *decoder) feed(chunk []byte, last bool, sink func([]byte)) error {
	if d.next == nil {
		if len(chunk) == 0 {
			return nil
		}
		d.next, d.halt = iter.Pull(d.decoded)
	}
	if !d.full {
		d.chunk = chunk
	}
	d.held = append(d.held, chunk...)
	d.in += int64(len(chunk))
	d.full = false
	d.last = last
	for given := 0; ; {
		b, ok := d.next()
		given = given + len(b)
		d.out = d.out + int64(len(b))
		switch {
		case !ok && d.err == io.EOF:
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
