package check

import (
	"encoding/json"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// param is an argument of a tool that goes into a header too.
type param struct {
	path   []string // below the arguments
	header string   // behind Mcp-Param-
}

// mostParams is how many are read of a tool, and deepestParam how far below its root.
const (
	mostParams   = 100
	deepestParam = 20
)

// paramsOf reads a tool's input schema for them.
func paramsOf(schema json.RawMessage, path []string, list []param) []param {
	var properties map[string]json.RawMessage
	if len(path) > deepestParam || json.Unmarshal(transport.Member(schema, "properties"), &properties) != nil {
		return list
	}
	for _, name := range sortedKeys(properties) {
		below := append(path[:len(path):len(path)], name)
		var header string
		if json.Unmarshal(transport.Member(properties[name], "x-mcp-header"), &header) == nil && header != "" && len(list) < mostParams {
			list = append(list, param{below, header})
		}
		list = paramsOf(properties[name], below, list)
	}
	return list
}

// argument returns an argument as a header has it, and whether it is there to be sent.
func argument(params json.RawMessage, path []string) (value string, given bool) {
	raw := transport.Member(params, append([]string{"arguments"}, path...)...)
	switch {
	case raw == nil || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		given = json.Unmarshal(raw, &value) == nil
		return value, given
	}
	return string(raw), raw[0] != '{' && raw[0] != '['
}

// sameNumber reports whether two values are the same number, as 42 and 42.0.
func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y
}
