package explore

import (
	"sync"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// said is what a frame says. It is shared by runs and never changed.
type said struct {
	order.Parsed
	about []string // the subjects of its messages
}

// parser remembers what frames say: in run after run the same peers send the same
// bytes. It may be used by several goroutines at once.
type parser struct {
	mu   sync.Mutex // never held across a wait
	seen map[string]*said
}

const (
	parserFrames = 1024    // that are remembered
	parserBytes  = 1 << 14 // of a frame that is
)

func (p *parser) parse(f transport.Frame) *said {
	if len(f.Bytes) > parserBytes {
		return parseFrame(f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.seen[string(f.Bytes)]; old != nil {
		return old
	}
	text := string(f.Bytes)
	read := parseFrame(transport.Frame{Bytes: []byte(text)}) // not the peer's bytes, which it may change
	if p.seen == nil {
		p.seen = map[string]*said{}
	}
	if len(p.seen) < parserFrames {
		p.seen[text] = read
	}
	return read
}

func parseFrame(f transport.Frame) *said {
	s := &said{Parsed: order.Parse(f)}
	for _, m := range s.Messages {
		s.about = append(s.about, subject(m))
	}
	return s
}
