package httptap

import (
	"bufio"
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
	codings []opener              // in the order of decoding
	chunk   []byte                // coded bytes, not read yet
	last    bool                  // no other chunk follows
	held    []byte                // the coded bytes since the last decoded byte
	next    func() ([]byte, bool) // nil until the first chunk
	halt    func()
	err     error // the reason of the end
	full    bool  // there is more output than outLimit allows
	in      int64 // coded bytes so far
	out     int64 // decoded bytes so far
}

// opener returns a reader that undoes one coding.
type opener func(source) (io.Reader, error)

// source is a reader of coded bytes that can be read byte by byte, to let a decoder take no byte
// too many. A [bufio.Reader] is a source.
type source interface {
	io.Reader
	io.ByteReader
	Peek(n int) ([]byte, error)
}

// errTrailing: bytes follow the end of the coded body.
var errTrailing = errors.New("bytes follow its end")

// maxCodings bounds how many codings are undone one after another: each needs memory, and the
// peer decides how many there are.
const maxCodings = 5

// newDecoder returns a decoder for the value of Content-Encoding, or nil if the body is not coded.
// known is false if a coding cannot be undone.
func newDecoder(list string) (d *decoder, known bool) {
	d = &decoder{}
	for coding := range strings.SplitSeq(list, ",") {
		var open opener
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			open = func(src source) (io.Reader, error) { return &gunzip{src: src}, nil }
		case "deflate":
			open = inflate
		case "br":
			open = func(src source) (io.Reader, error) { return unbrotli{brotli.NewReader(src)}, nil }
		case "zstd":
			open = newUnzstd
		default:
			return nil, false
		}
		d.codings = append([]opener{open}, d.codings...) // the coding applied last stands last
	}
	switch n := len(d.codings); {
	case n == 0:
		return nil, true
	case n > maxCodings:
		return nil, false
	}
	return d, true
}

// gunzip reads the members of a gzip body. [gzip.Reader] returns the end of a member only when it
// has the header of the next; gunzip returns it at once.
type gunzip struct {
	src    source
	member *gzip.Reader
	within bool // the member has not ended
}

func (g *gunzip) Read(p []byte) (int, error) {
	for {
		if !g.within {
			if err := g.open(); err != nil {
				return 0, err
			}
		}
		n, err := g.member.Read(p)
		g.within = err != io.EOF
		switch {
		case g.within:
			return n, err
		case n > 0:
			return n, nil
		}
	}
}

// open begins the next member, if there is one.
func (g *gunzip) open() (err error) {
	head, err := g.src.Peek(1)
	switch {
	case err != nil:
		return err
	case g.member == nil:
		g.member, err = gzip.NewReader(g.src)
	case head[0] != 0x1f: // with which each member begins
		return errTrailing
	default:
		err = g.member.Reset(g.src)
	}
	if err == nil {
		g.member.Multistream(false)
		g.within = true
	}
	return err
}

// inflate reads zlib's format, as the specification says, or bare deflate, as some servers send.
func inflate(src source) (io.Reader, error) {
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
	src source
}

func (i inflated) Read(p []byte) (int, error) {
	n, err := i.Reader.Read(p)
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

// unbrotli turns the reader's error for trailing bytes, which is not exported, into errTrailing.
type unbrotli struct{ *brotli.Reader }

func (u unbrotli) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil && err.Error() == "brotli: excessive input" {
		err = errTrailing
	}
	return n, err
}

// zstdWindow is the largest window that a body may use (RFC 9659).
const zstdWindow = 8 << 20

// unzstd decodes the frames of a body, in the reader's goroutine.
type unzstd struct {
	*zstd.Decoder
	came bool // a byte was decoded
}

func newUnzstd(src source) (io.Reader, error) {
	z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	return &unzstd{Decoder: z}, err
}

func (u *unzstd) Read(p []byte) (int, error) {
	n, err := u.Decoder.Read(p)
	u.came = u.came || n > 0
	if u.came && errors.Is(err, zstd.ErrMagicMismatch) { // these bytes begin no frame
		err = errTrailing
	}
	return n, err
}

// decoded yields the decoded bytes, and nil to ask for another chunk.
func (d *decoder) decoded(yield func([]byte) bool) {
	var src source = hungry{d, yield}
	var r io.Reader
	var below error // the error of a coding undone before the last
	for _, open := range d.codings {
		if r != nil {
			src = bufio.NewReader(noting{r, &below})
		}
		if r, d.err = open(src); d.err != nil {
			return
		}
	}
	buf := make([]byte, 32<<10)
	for d.err == nil {
		var n int
		if n, d.err = r.Read(buf); n > 0 && !yield(buf[:n]) {
			d.err = io.ErrUnexpectedEOF // the decoder was stopped
		}
	}
	if d.err == io.EOF && below != nil {
		d.err = below
	}
}

// noting keeps the error of a reader, because the next decoder may take the error for the end.
type noting struct {
	io.Reader
	err *error
}

func (r noting) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		*r.err = err
	}
	return n, err
}

// hungry reads the decoder's chunks.
type hungry struct {
	d     *decoder
	yield func([]byte) bool
}

// more waits for a chunk if there is none, and reports whether there is one now.
func (h hungry) more() bool {
	for len(h.d.chunk) == 0 {
		if h.d.last || !h.yield(nil) {
			return false
		}
	}
	return true
}

func (h hungry) Read(p []byte) (int, error) {
	if !h.more() {
		return 0, io.EOF
	}
	n := copy(p, h.d.chunk)
	h.d.chunk = h.d.chunk[n:]
	return n, nil
}

// ReadByte keeps a decoder from taking more than it needs.
func (h hungry) ReadByte() (byte, error) {
	if !h.more() {
		return 0, io.EOF
	}
	b := h.d.chunk[0]
	h.d.chunk = h.d.chunk[1:]
	return b, nil
}

// Peek returns the next bytes, which stay in the chunk.
func (h hungry) Peek(n int) ([]byte, error) {
	var ahead []byte // the bytes of short chunks
	for len(ahead)+len(h.d.chunk) < n {
		ahead, h.d.chunk = append(ahead, h.d.chunk...), nil
		if !h.more() {
			h.d.chunk = ahead
			return ahead, io.EOF
		}
	}
	if len(ahead) > 0 {
		h.d.chunk = append(ahead, h.d.chunk...)
	}
	return h.d.chunk[:n], nil
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
	d.full, d.last = false, last
	for given := 0; ; {
		b, ok := d.next()
		given, d.out = given+len(b), d.out+int64(len(b))
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
