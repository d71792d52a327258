package phrase_test

import (
	"encoding/json"
	"testing"

	"github.com/mcprec/mcprec/transport/phrase"
)

// TestJSONFault: a value of another type is named without a type of Go.
func TestJSONFault(t *testing.T) {
	var v struct {
		ID   string `json:"id"`
		Deep struct {
			N float64 `json:"n"`
		} `json:"deep"`
	}
	for text, want := range map[string]string{
		`{"id":7}`:            `"id" is a number`,
		`{"deep":{"n":"x"}}`:  `"deep.n" is a string`,
		`[]`:                  `it is an array`,
		`{"id":1e999999,"x":`: "unexpected end of JSON input",
	} {
		err := phrase.JSONFault(json.Unmarshal([]byte(text), &v))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
