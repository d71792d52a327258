package replay

import (
	"bytes"
	"fmt"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Noise is a frame that holds no message. Nothing waits for it, with one exception:
// the error with which a server answers what it could not read, and which names no
// request, belongs to the noise in front of it. It is said to a client that says
// such noise too, and not to one that does not.
//
// An end that says more of it than the recorded one did is told so once, as Extra.

// noiseMethod is where the cues are that are noise.
const noiseMethod = "a frame that is no message"

// isNoise reports whether there is something in a frame, but no message.
func isNoise(frame []byte, messages []transport.Message) bool {
	for _, m := range messages {
		if m.Kind() != transport.Invalid {
			return false
		}
	}
	return len(bytes.TrimSpace(frame)) > 0
}

// isRefusal reports whether the messages are an error that names no request.
func isRefusal(messages []transport.Message) bool {
	return len(messages) == 1 && messages[0].Error != nil && (messages[0].ID == nil || string(messages[0].ID) == "null")
}

// hearNoise makes the noise before a refusal a cue, and returns it.
func (p *casting) hearNoise(e store.Event) *cue {
	c := &cue{index: len(p.cues), seq: e.Seq, at: e.At, on: e.Stream}
	p.cues = append(p.cues, c)
	p.others[noiseMethod] = append(p.others[noiseMethod], c)
	return c
}

// noise takes a live frame that holds no message.
func (p *Player) noise(f transport.Frame) {
	for _, c := range p.others[noiseMethod] {
		if !c.isSettled() {
			p.arrive(c, transport.Message{}, f.Stream)
			return
		}
	}
	p.noises.add(f, p.reached)
}

// noises counts an end's frames that hold no message, but for those that are a cue.
type noises struct {
	recorded, live int
	first          string // of the live ones
	after          uint64 // Seq of what was recorded before that
}

func (n *noises) add(f transport.Frame, reached uint64) {
	if n.live++; n.live == 1 {
		n.first, n.after = clip(string(bytes.TrimSpace(f.Bytes))), reached
	}
}

// judge returns the verdict on the live end's frames that hold no message; none if
// the recorded end said as many.
func (n *noises) judge(dir transport.Direction, end string) []judged {
	if n.live <= n.recorded {
		return nil
	}
	return []judged{{seq: n.after, grave: true, StepVerdict: StepVerdict{
		Result: Extra, Dir: dir, What: noiseMethod,
		Text: fmt.Sprintf("%s of the %s, no JSON-RPC message each, passed over; the first: %s", phrase.Plural(n.live, "line"), end, n.first),
	}}}
}
