package mcp

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"
)

// values is the spellings of some ids: those of one line are one id.
var values = [][]string{
	{`2`, `2.0`, `2e0`, `20e-1`, `0.2E+1`, `2.000000000000000000000000`, `200e-002`},
	{`-2`, `-2.0`, `-20e-1`},
	{`0`, `-0`, `0.0`, `0e99999999999999999999`, `-0e-5`},
	{`9007199254740992`, `9007199254740992.0`, `9.007199254740992e15`},
	{`9007199254740993`, `9007199254740993.00`},
	{`18446744073709551616`, `1.8446744073709551616e19`},
	{`100000000000000000000`, `1e20`, `1E+20`},
	{`10000000000000000000000000`, `1e25`, `0.1e26`},
	{`1e999999999`, `10e999999998`, `0.01e1000000001`},
	{`1e1000000000`},
	{`1e99999999999999999999`},
	{`0.5`, `5e-1`, `0.50`},
	{`"2"`, `"\u0032"`},
	{`"2.0"`},
	{`"a"`, `"\u0061"`},
	{`"é"`, `"\u00e9"`, `"\u00E9"`},
	{`"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`},
	{`"\ud83d"`, `"\uD83D"`},
	{`"\ude00"`},
	{`"\ude00\ud83d"`},
	{`"\ud83d\ud83d\ude00"`, `"\ud83d😀"`},
	{`"\ud83dA"`, `"\ud83d\u0041"`},
	{"\"\xff\""},
	{"\"\xfe\"", "\"\xfe\""},
	{`"�"`, `"\ufffd"`},
	{`"\n"`, `"\u000a"`, `"\u000A"`},
	{`"\b\f\r\t"`, `"\u0008\u000c\u000d\u0009"`},
	{`"/"`, `"\/"`},
	{`"\\"`, `"\u005c"`},
	{`"\\u0061"`},
	{`"\""`, `"\u0022"`},
	{`""`},
	{`null`},
	{`"null"`},
	{`true`},
	{`[2]`},
	{`{"a":2}`},
	{``},
	// What follows is no JSON.
	{`02`}, {`2.`}, {`-`}, {`2.0 `}, {`"a`}, {`"\`}, {`"\"`}, {`"\u00"`}, {`1e`}, {`1.2.3`}, {`--2`}, {`"\x"`}, {`2x`},
}

func TestKeyOf(t *testing.T) {
	owner := map[Key]int{}
	for n, spellings := range values {
		for _, s := range spellings {
			key := KeyOf(json.RawMessage(s))
			if of, seen := owner[key]; seen && of != n {
				t.Errorf("%s has the key of %s: %s", s, values[of][0], key)
			} else if !seen && s != spellings[0] {
				t.Errorf("%s has the key %s, %s another", s, key, spellings[0])
			}
			owner[key] = n
			if again := KeyOf(json.RawMessage(key)); again != key {
				t.Errorf("the key of %s is %s, and of that %s", s, key, again)
			}
			if IsPlain(json.RawMessage(s)) && string(key) != s {
				t.Errorf("%s is plain, and its key is %s", s, key)
			}
			if !Same(json.RawMessage(s), json.RawMessage(spellings[0])) {
				t.Errorf("%s is not the same as %s", s, spellings[0])
			}
		}
	}
}

// TestKeyOfPlain: an id as nearly every peer writes it costs no more than its string.
func TestKeyOfPlain(t *testing.T) {
	for _, id := range []string{`7`, `123456`, `-7`, `"call-17"`, `"0190aaaa-0000-7000-8000-0000000000ff"`, `null`} {
		raw := json.RawMessage(id)
		var key Key
		if n := testing.AllocsPerRun(100, func() { key = KeyOf(raw) }); n > 1 {
			t.Errorf("the key of %s: %v allocations", id, n)
		}
		if string(key) != id {
			t.Errorf("the key of %s is %s", id, key)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, same := range [][]string{
		{"0", "-0", "0.0", "0e5", "-0.00e-3"},
		{"100", "1e2", "1E+2", "100.0", "0.1e3"},
		{"-1.5", "-15e-1", "-0.15e1"},
		{"0.015", "15e-3", "0.0150"},
		{"0.00000000000000000001", "1e-20"},
		{"1e-21", "0.000000000000000000001"},
		{"1e400", "10e399"},
		{"1e-400", "0.1e-399"},
		{"100000000000000000000", "1e20"},
		{"1e21", "1000000000000000000000"},
	} {
		for _, s := range same {
			if Decimal(s) != same[0] {
				t.Errorf("%s is %s, want %s", s, Decimal(s), same[0])
			}
		}
	}
	for _, pair := range [][2]string{
		{"9007199254740993", "9007199254740992"}, {"1", "-1"}, {"1e400", "1e401"}, {"1", "10"}, {"0.1", "0.10000000000000000001"},
		{"1e99999999999999999999", "1e99999999999999999998"},
	} {
		if Decimal(pair[0]) == Decimal(pair[1]) {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], Decimal(pair[0]))
		}
	}
}

// FuzzKeyOf: two ids have one key if and only if they have one value, as math/big and
// encoding/json have it.
func FuzzKeyOf(f *testing.F) {
	for _, spellings := range values {
		f.Add([]byte(spellings[0]), []byte(spellings[len(spellings)-1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		keyA, keyB := KeyOf(a), KeyOf(b)
		if again := KeyOf(json.RawMessage(keyA)); again != keyA {
			t.Errorf("the key of %q is %q, and of that %q", a, keyA, again)
		}
		if !json.Valid(a) || !json.Valid(b) {
			return
		}
		if same, known := sameNumber(a, b); known && same != (keyA == keyB) {
			t.Errorf("%s and %s: the keys are %s and %s", a, b, keyA, keyB)
		}
		if same, known := sameText(a, b); known && same != (keyA == keyB) {
			t.Errorf("%s and %s: the keys are %s and %s", a, b, keyA, keyB)
		}
	})
}

// sameNumber compares two numbers. It knows nothing of other values, nor of those whose
// exponent makes a big.Rat big.
func sameNumber(a, b []byte) (same, known bool) {
	var both [2]*big.Rat
	for i, raw := range [][]byte{a, b} {
		_, exponent, _ := strings.Cut(strings.ToLower(string(raw)), "e")
		if len(exponent) > 4 || strings.Contains("\"tfn[{ \t\r\n", string(raw[:1])) || !isDigit(raw[len(raw)-1]) {
			return false, false
		}
		if both[i], known = new(big.Rat).SetString(string(raw)); !known {
			return false, false
		}
	}
	return both[0].Cmp(both[1]) == 0, true
}

// sameText compares two strings. It knows nothing of other values, nor of strings that
// encoding/json replaces a part of.
func sameText(a, b []byte) (same, known bool) {
	var both [2]string
	for i, raw := range [][]byte{a, b} {
		if raw[0] != '"' || raw[len(raw)-1] != '"' || !utf8.Valid(raw) || json.Unmarshal(raw, &both[i]) != nil {
			return false, false
		}
		if strings.ContainsRune(both[i], utf8.RuneError) {
			return false, false
		}
	}
	return both[0] == both[1], true
}
