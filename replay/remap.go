package replay

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// splice returns doc with the value at path replaced, and every other byte as it
// was. A path is object keys and, in lists, decimal indices; of a duplicate key
// the last counts, as in [transport.Message]. Nothing is changed, and ok is
// false, when there is no such value. doc itself stays as it is.
func splice(doc, value []byte, path ...string) (spliced []byte, ok bool) {
	start, end, ok := locate(doc, path)
	if !ok {
		return doc, false
	}
	spliced = slices.Grow([]byte(nil), len(doc)-(end-start)+len(value))
	spliced = append(spliced, doc[:start]...)
	spliced = append(spliced, value...)
	return append(spliced, doc[end:]...), true
}

// locate returns where in doc the value at path begins and ends.
func locate(doc []byte, path []string) (start, end int, ok bool) {
	end = len(doc)
	for _, step := range path {
		from, to, ok := locateMember(doc[start:end], step)
		if !ok {
			return 0, 0, false
		}
		start, end = start+from, start+to
	}
	return start, end, true
}

// locateMember returns where the member or element of one object or list is.
func locateMember(doc []byte, step string) (start, end int, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return 0, 0, false
	}
	for i := 0; dec.More(); i++ {
		key := strconv.Itoa(i)
		if open == json.Delim('{') {
			token, err := dec.Token()
			if err != nil {
				return 0, 0, false
			}
			key = token.(string)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return 0, 0, false
		}
		if key == step {
			end, ok = int(dec.InputOffset()), true
			start = end - len(raw)
		}
	}
	return start, end, ok
}
