package explore

import (
	"bytes"
	"encoding/json"

	"github.com/mcprec/mcprec/replay"
)

// MarshalJSON writes the report with lists that are never null.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	p := plain(r)
	p.Tried = append([]Tried{}, r.Tried...)
	p.Waits = append([]Wait{}, r.Waits...)
	p.Broken = append([]Breach{}, r.Broken...)
	for _, list := range []*[]string{&p.Unfinished, &p.Chain, &p.Choices, &p.Sequence, &p.Stacks, &p.Notes} {
		*list = append([]string{}, *list...)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // arrows stay arrows
	err := enc.Encode(p)
	return b.Bytes(), err
}

// MarshalJSON writes numbers, and "unbounded".
func (c Capacity) MarshalJSON() ([]byte, error) {
	return json.Marshal(replay.Capacity{C2S: replay.Room(c.C2S), S2C: replay.Room(c.S2C)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Capacity) UnmarshalJSON(b []byte) error {
	var r replay.Capacity
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	c.C2S, c.S2C = int(r.C2S), int(r.S2C)
	return nil
}
