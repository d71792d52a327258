package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// lineOf makes a line of segments: a text in brackets is red.
func lineOf(text string) (line []Segment) {
	for text != "" {
		before, rest, found := strings.Cut(text, "[")
		if before != "" {
			line = append(line, Segment{Unpainted, before})
		}
		if !found {
			break
		}
		red, after, _ := strings.Cut(rest, "]")
		line, text = append(line, Segment{Red, red}), after
	}
	return line
}

func textOf(line []Segment) string {
	var b strings.Builder
	for _, s := range line {
		if s.How == Red {
			b.WriteString("[" + s.Text + "]")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

func TestClipLine(t *testing.T) {
	for _, row := range []struct{ line, want string }{
		{"", ""},
		{"1234567890", "1234567890"},
		{"12345678901", "123456789…"},
		{"12345[67890]", "12345[67890]"},
		{"12345[67890]1", "12345[6789…]"},
		{"123456789[01]", "123456789[…]"},
		{"日本語日本", "日本語日本"},
		{"日本語日本語", "日本語日…"},
		{"e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"},
		{strings.Repeat("x", 1000), "xxxxxxxxx…"},
	} {
		if got := textOf(ClipLine(lineOf(row.line), 10)); got != row.want {
			t.Errorf("%q in 10 columns: %q, want %q", row.line, got, row.want)
		}
	}
}

func TestWrapLine(t *testing.T) {
	for _, row := range []struct{ line, want string }{
		{"", ""},
		{"ten column", "ten column"},
		{"ten columns", "ten|  columns"},
		{"one two three four", "one two|  three|  four"},
		{"  one two three", "  one two|    three"},
		{"a [red words] here", "a [red]|  [words]|  here"},
		{"abcdefghijklmnopqrstuvwxyz", "abcdefghij|  klmnopqr|  stuvwxyz"},
		{"blanks    behind", "blanks   |    behind"},
		{"at the end ", "at the end"},
		{"日本語 日本語", "日本語|  日本語"},
	} {
		var lines []string
		for _, line := range wrapLine(lineOf(row.line), 10) {
			if text := textOf(line); Columns(strings.NewReplacer("[", "", "]", "").Replace(text)) > 10 {
				t.Errorf("%q: %q is too long", row.line, text)
			}
			lines = append(lines, textOf(line))
		}
		if got := strings.Join(lines, "|"); got != row.want {
			t.Errorf("%q in 10 columns: %q, want %q", row.line, got, row.want)
		}
	}
}

// TestScreenFit: a screen lays lines out on a terminal only, whatever pieces they come in.
func TestScreenFit(t *testing.T) {
	for _, row := range []struct {
		isTerminal bool
		how        Fit
		want       string
	}{
		{false, Clip, "  one two three\nfour"},
		{true, Whole, "  one two three\nfour"},
		{true, Clip, "  one two…\nfour"},
		{true, Wrap, "  one two\n    three\nfour"},
	} {
		var out bytes.Buffer
		s := NewScreen(&out, "never")
		s.isTerminal, s.Width = row.isTerminal, 10
		s.Fit(row.how)
		s.Paint(Red, "  one ")
		fmt.Fprint(s, "two th")
		s.Paint(Unpainted, "ree\nfo")
		s.Paint(Dim, "ur")
		if err := s.Flush(); err != nil || out.String() != row.want {
			t.Errorf("%v %v: %q, want %q, %v", row.isTerminal, row.how, out.String(), row.want, err)
		}
	}
}

// TestToCopy holds that a command which is there to be copied stays in one line.
func TestToCopy(t *testing.T) {
	for _, line := range []string{"mcprec show behind", "  mcprec show behind", "Next: mcprec show behind", "See it: mcprec view --at 7"} {
		if lines := wrapLine(lineOf(line), 10); len(lines) != 1 {
			t.Errorf("%q is broken into %d lines", line, len(lines))
		}
	}
}
