package framing

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// InLine finds what a line that is no message, or a whole body, holds in another form. Its Form is None for
// a stray line.
func InLine(line []byte) Found {
	text := transport.TrimBlanks(line)
	if len(text) == 0 {
		return Found{}
	}
	for _, try := range []func([]byte) Found{inUTF16, behindMark, inColours, inEvent, besideBlank, several, almostJSON} {
		if found := try(text); found.Form != None {
			found.Lines = 1
			return found
		}
	}
	return Found{}
}

// found returns the messages of a text that is left when a form is taken away.
func found(form Form, text []byte, what string) Found {
	messages := messagesOf(text)
	if messages == nil {
		return Found{}
	}
	return Found{Form: form, Messages: messages, JSON: bytes.Clone(transport.TrimBlanks(text)), What: what}
}

// inUTF16 reads UTF-16, which has a zero byte beside each character of ASCII. A newline of two bytes is cut
// in the middle, so that a line may have half of one at either end.
func inUTF16(text []byte) Found {
	if bytes.IndexByte(text, 0) < 0 {
		return Found{}
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		rest := bytes.TrimPrefix(bytes.TrimPrefix(text, []byte("\xff\xfe")), []byte("\xfe\xff"))
		if order == binary.LittleEndian {
			rest = bytes.TrimPrefix(rest, []byte{0})
		}
		var units []uint16
		for ; len(rest) > 1; rest = rest[2:] {
			units = append(units, order.Uint16(rest))
		}
		plain := strings.Trim(string(utf16.Decode(units)), "\ufeff\r\n")
		if found := found(UTF16, []byte(plain), ""); found.Form != None {
			return found
		}
	}
	return Found{}
}

func behindMark(text []byte) Found {
	rest, ok := bytes.CutPrefix(text, []byte("\ufeff"))
	if !ok {
		return Found{}
	}
	return found(ByteOrderMark, rest, "")
}

// escapes are the sequences that set a terminal's colours, and its other modes.
var escapes = phrase.Regexp("\x1b\\[[0-9;?]*[A-Za-z]")

func inColours(text []byte) Found {
	if bytes.IndexByte(text, '\x1b') < 0 {
		return Found{}
	}
	return found(Colours, escapes().ReplaceAll(text, nil), "")
}

func inEvent(text []byte) Found {
	data, ok := bytes.CutPrefix(text, []byte("data:"))
	if !ok {
		return Found{}
	}
	return found(EventStream, data, "")
}

// besideBlank reads a message with characters before or behind it that only Unicode calls blank, or that
// cannot be seen.
func besideBlank(text []byte) Found {
	isOdd := func(c rune) bool {
		return c != utf8.RuneError && (unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c))
	}
	rest := bytes.TrimFunc(text, isOdd)
	if len(rest) == len(text) || len(rest) == 0 {
		return Found{}
	}
	c, _ := utf8.DecodeRune(text)
	where := " before"
	if text[0] == rest[0] {
		c, _ = utf8.DecodeLastRune(text)
		where = " behind"
	}
	return found(OddBlank, rest, nameOf(c)+where)
}

// nameOf names a character that cannot be seen.
func nameOf(c rune) string {
	names := map[rune]string{
		'\f': "a form feed", '\v': "a vertical tab", 0: "a zero byte", 0x1e: "a record separator", 0x85: "a next line", 0xa0: "a no-break space",
		0x200b: "a zero-width space", 0x2028: "a line separator", 0x2029: "a paragraph separator", 0x3000: "an ideographic space", 0xfeff: "a byte order mark",
	}
	if name := names[c]; name != "" {
		return fmt.Sprintf("%s (U+%04X)", name, c)
	}
	return fmt.Sprintf("U+%04X", c)
}

// several reads a line of several messages.
func several(text []byte) Found {
	if text[0] != '{' {
		return Found{}
	}
	all := []byte("[")
	n := 0
	for dec := json.NewDecoder(bytes.NewReader(text)); ; n++ {
		var one json.RawMessage
		switch err := dec.Decode(&one); {
		case errors.Is(err, io.EOF) && n > 1:
			return found(SeveralInLine, append(all, ']'), "")
		case err != nil || messagesOf(one) == nil:
			return Found{}
		}
		if n > 0 {
			all = append(all, ',')
		}
		all = append(all, one...)
	}
}

// almostJSON finds where a line that was meant as a message is no JSON. A line that only ends early is none.
func almostJSON(text []byte) Found {
	isMeant := (text[0] == '{' || text[0] == '[') && bytes.Contains(text[:min(len(text), 1<<20)], []byte("jsonrpc"))
	if !isMeant {
		return Found{}
	}
	var syntax *json.SyntaxError
	var value json.RawMessage
	err := json.Unmarshal(text, &value)
	if !errors.As(err, &syntax) || syntax.Offset > int64(len(text)) || strings.HasPrefix(err.Error(), "unexpected end") {
		return Found{}
	}
	at := int(syntax.Offset) // of the byte, from 1
	return Found{Form: NotJSON, At: wordStart(text, at-1) + 1, What: breakAt(text, at-1)}
}

// wordStart returns where the word begins that a byte is in.
func wordStart(text []byte, at int) int {
	for at > 0 && isWord(text[at]) && isWord(text[at-1]) {
		at--
	}
	return at
}

func isWord(c byte) bool {
	return c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// breakAt says what stands where JSON breaks.
func breakAt(text []byte, at int) string {
	from := wordStart(text, at)
	to := from
	for to < len(text) && isWord(text[to]) {
		to++
	}
	before := transport.TrimBlanks(text[:from])
	switch c, _ := utf8.DecodeRune(text[at:]); {
	case to > from:
		return "where " + phrase.Clip(string(text[from:to]), 40) + " stands"
	case (c == '}' || c == ']') && bytes.HasSuffix(before, []byte(",")):
		return "where a comma stands before " + string(c)
	case c < ' ':
		return fmt.Sprintf("where %s stands in a text", nameOf(c))
	case c == utf8.RuneError:
		return fmt.Sprintf("where the byte %02X stands", text[at])
	default:
		return "where " + string(c) + " stands"
	}
}
