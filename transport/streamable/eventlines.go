package streamable

import (
	"bytes"
	"iter"
)

// lineEnds walks along a chunk. It looks for each kind of line end only beyond the
// last one found.
type lineEnds struct {
	b      []byte
	at     int
	lf, cr int // the last ones found; before at: not the next ones
}

// next returns where the line that the walk stands in ends; len(b): not in here.
func (e *lineEnds) next() int {
	if e.lf < e.at {
		e.lf = e.find('\n')
	}
	if e.cr < e.at {
		e.cr = e.find('\r')
	}
	return min(e.lf, e.cr)
}

func (e *lineEnds) find(c byte) int {
	if i := bytes.IndexByte(e.b[e.at:], c); i >= 0 {
		return e.at + i
	}
	return len(e.b)
}

// DataLine returns how much of a line stands before the value of its data; 0: it is
// no data line.
func DataLine(line []byte) int {
	switch {
	case bytes.HasPrefix(line, dataHead):
		return len(dataHead)
	case bytes.HasPrefix(line, dataHead[:5]):
		return 5
	case string(line) == "data":
		return 4
	}
	return 0
}

// EventLines yields each line of b with its line end; the last one may have none.
func EventLines(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(text, end []byte) bool) {
		for e := (lineEnds{b: b, lf: -1, cr: -1}); e.at < len(b); {
			from, end := e.at, e.next()
			e.at = min(end+1, len(b))
			if end+1 < len(b) && b[end] == '\r' && b[end+1] == '\n' {
				e.at++
			}
			if !yield(b[from:end], b[end:e.at]) {
				return
			}
		}
	}
}

// JoinEvent puts the values of an event's data back into the rest of it: what came
// over the wire. first: the event is its stream's first.
func JoinEvent(meta, data []byte, first bool) []byte {
	if meta == nil {
		meta = plainMeta
	}
	values := bytes.Split(data, []byte{'\n'})
	var b []byte
	for text, end := range EventLines(meta) {
		b = append(b, text...)
		if first && len(b) == len(text) {
			text = bytes.TrimPrefix(text, byteOrder)
		}
		if n := DataLine(text); n > 0 && n == len(text) && len(values) > 0 {
			b = append(b, values[0]...)
			values = values[1:]
		}
		b = append(b, end...)
	}
	return b
}
