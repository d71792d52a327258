package diff

import (
	"encoding/json"

	"github.com/mcprec/mcprec/transport"
)

// tool is one that a server listed.
type tool struct {
	name    string
	content uint64
}

// keptTools is how many tools of a session are told apart.
const keptTools = 10_000

// toolsOf reads the tools of a result, if it has a list of them.
func (d *Digester) toolsOf(result json.RawMessage) (list []tool) {
	raw := transport.Member(result, "tools")
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return nil
	}
	for _, one := range elements {
		var name string
		if json.Unmarshal(transport.Member(one, "name"), &name) != nil {
			continue
		}
		content, _ := d.hash.value(one, 0)
		list = append(list, tool{name, content})
	}
	return list
}
