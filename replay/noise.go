package replay

import (
	"bytes"
	"fmt"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Noise is a frame that holds no message. Nothing waits for it, with one exception:
// the error with which a server answers what it could not read, and which names no
// request, belongs to the noise in front of it. It is said to a client that says
// such noise too, and not to one that does not.

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
	if p.garbage++; p.garbage == 1 {
		p.firstGarbage = clip(string(bytes.TrimSpace(f.Bytes)))
	}
}

// judgeNoise returns the verdict on lines that are no messages; none if the recorded
// client said as many.
func (p *Player) judgeNoise() []judged {
	if p.garbage <= p.noises {
		return nil
	}
	return []judged{{seq: p.reached, grave: true, StepVerdict: StepVerdict{
		Result: Extra, Dir: transport.ClientToServer, What: noiseMethod,
		Text: fmt.Sprintf("%s of the client, no JSON-RPC message each, passed over; the first: %s", plural(p.garbage, "line"), p.firstGarbage),
	}}}
}
