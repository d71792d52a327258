package replay

import (
	"encoding/json"
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// splice returns doc with the value at path replaced, and every other byte as it
// was. A path is object keys and, in lists, decimal indices; of a duplicate key
// the last counts, as in [transport.Message]. Nothing is changed, and ok is
// false, when there is no such value. doc itself stays as it is.
func splice(doc, value []byte, path ...string) (spliced []byte, ok bool) {
	if !json.Valid(doc) {
		return doc, false
	}
	start, end, ok := transport.Locate(doc, path...)
	if !ok {
		return doc, false
	}
	spliced = slices.Grow([]byte(nil), len(doc)-(end-start)+len(value))
	spliced = append(spliced, doc[:start]...)
	spliced = append(spliced, value...)
	return append(spliced, doc[end:]...), true
}
