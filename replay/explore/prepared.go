package explore

import (
	"sync"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// prepared is what all runs of a plan share of its session.
type prepared struct {
	events []store.Event
	keys   sync.Map // method and raw params → replay.Key
	once   sync.Once
	list   []recordedCall
	fault  error
}

// match is replay.MatchParams, worked out once for the same bytes: schedules ask
// for the same things again and again.
func (p *prepared) match(m transport.Message) (replay.Key, error) {
	raw := m.Method + "\x00" + string(m.Params)
	if key, ok := p.keys.Load(raw); ok {
		return key.(replay.Key), nil
	}
	key, err := replay.MatchParams(m)
	if err == nil {
		p.keys.Store(raw, key)
	}
	return key, err
}

// calls lists the session's requests.
func (p *prepared) calls() ([]recordedCall, error) {
	p.once.Do(func() { p.list, p.fault = recordedCalls(p.events) })
	return p.list, p.fault
}
