package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
)

// Value decodes one JSON value for a comparison: [reflect.DeepEqual] of two tells whether they are the same.
// Numbers are a json.Number in the spelling of [Decimal], so 1 and 1.0 are equal and no digit is lost.
func Value(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return inOneSpelling(value), nil
}

// inOneSpelling writes the numbers of a decoded value as Decimal does.
func inOneSpelling(value any) any {
	switch v := value.(type) {
	case json.Number:
		return json.Number(Decimal(string(v)))
	case []any:
		for i := range v {
			v[i] = inOneSpelling(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = inOneSpelling(v[name])
		}
	}
	return value
}

// CompareNumbers returns -1, 0 or +1 as the JSON number a is below, equal to or above b. Like [Decimal] it rounds
// nothing, up to 70 digits. Numbers whose exponents are beyond 2^31 are equal if float64 does not tell them apart.
func CompareNumbers(a, b string) int {
	if Decimal(a) == Decimal(b) {
		return 0
	}
	x, _ := strconv.ParseFloat(a, 64) // infinite if out of range
	y, _ := strconv.ParseFloat(b, 64)
	switch {
	case x < y:
		return -1
	case x > y:
		return +1
	}
	const bits = 256 // some 70 digits
	exactX, _, errX := big.ParseFloat(a, 10, bits, big.ToNearestEven)
	exactY, _, errY := big.ParseFloat(b, 10, bits, big.ToNearestEven)
	if errX != nil || errY != nil {
		return 0
	}
	return exactX.Cmp(exactY)
}

// IsNumber reports whether a text is a JSON number.
func IsNumber(text string) bool {
	return text != "" && (text[0] == '-' || isDigit(text[0])) && isDigit(text[len(text)-1]) && json.Valid([]byte(text))
}
