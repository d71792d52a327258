package state

import (
	"math"
	"slices"
	"sort"

	"github.com/mcprec/mcprec/transport"
)

// queues holds the frames not yet shown to be taken.
type queues struct {
	lanes  map[lane]seqList // the Seqs of the queued frames
	counts [3]int           // by direction
}

// lane is a direction of an HTTP exchange; of the whole session on stdio.
type lane struct {
	dir    transport.Direction
	stream uint64
}

// index returns a direction as an index, whatever a damaged event says.
func index(dir transport.Direction) transport.Direction {
	if dir != transport.ClientToServer && dir != transport.ServerToClient {
		return transport.NoDirection
	}
	return dir
}

// take removes the frames of a lane up to a Seq: the receiver has taken these.
func (s *State) take(dir transport.Direction, stream, upto uint64) {
	q := &s.queues
	l := lane{index(dir), stream}
	list, taken := q.lanes[l].drop(upto)
	if taken == 0 {
		return
	}
	touch(s, l)
	q.counts[l.dir] -= taken
	if list.size == 0 {
		delete(q.lanes, l)
		return
	}
	q.lanes[l] = list
}

// seqList is a list of Seqs, which rise, in blocks that clones share: nothing may show for a whole
// session that a receiver takes its frames. A list and its clones are never changed in a shared place.
type seqList struct {
	blocks []seqBlock // none is empty
	size   int
}

// seqBlock has Seqs as their distances from a Seq before them, in half the memory.
type seqBlock struct {
	base      uint64
	distances []uint32
}

// blockSize is how many Seqs a block has at most.
const blockSize = 1024

// at returns the Seq at a place of the block.
func (b seqBlock) at(i int) uint64 { return b.base + uint64(b.distances[i]) }

// last returns the last Seq of the block.
func (b seqBlock) last() uint64 { return b.at(len(b.distances) - 1) }

// add returns the list with another Seq.
func (l seqList) add(seq uint64) seqList {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last].distances) >= blockSize || seq-l.blocks[last].base > math.MaxUint32 {
		l.blocks = append(l.blocks, seqBlock{base: seq})
		last++
	}
	block := &l.blocks[last]
	block.distances = append(block.distances, uint32(seq-block.base))
	l.size++
	return l
}

// clone returns a list that is independent of l.
func (l seqList) clone() seqList {
	if last := len(l.blocks) - 1; last >= 0 {
		l.blocks[last].distances = slices.Clip(l.blocks[last].distances) // both append to a block of their own
	}
	l.blocks = slices.Clone(l.blocks)
	return l
}

// drop returns the list without the Seqs up to one, and how many these are.
func (l seqList) drop(upto uint64) (rest seqList, dropped int) {
	before := l.size
	for len(l.blocks) > 0 && l.blocks[0].last() <= upto {
		l.size -= len(l.blocks[0].distances)
		l.blocks[0] = seqBlock{}
		l.blocks = l.blocks[1:]
	}
	if len(l.blocks) > 0 {
		first := &l.blocks[0]
		n := sort.Search(len(first.distances), func(i int) bool { return first.at(i) > upto })
		first.distances = first.distances[n:]
		l.size -= n
	}
	return l, before - l.size
}

// first returns the first Seq of a list that has some.
func (l seqList) first() uint64 { return l.blocks[0].at(0) }

// last returns the last Seq of a list that has some.
func (l seqList) last() uint64 { return l.blocks[len(l.blocks)-1].last() }

// gaps are the events that say that frames of a direction are missing.
type gaps [3][]uint64

// clone returns a copy that grows apart from g.
func (g gaps) clone() gaps {
	for dir := range g {
		g[dir] = slices.Clip(g[dir])
	}
	return g
}

// behind returns the first event behind a request that says that the answer may be missing, or 0.
func (g gaps) behind(c *call) uint64 {
	of := g[index(c.Dir.Reverse())]
	first, _ := slices.BinarySearch(of, c.Request)
	if first == len(of) {
		return 0
	}
	return of[first]
}
