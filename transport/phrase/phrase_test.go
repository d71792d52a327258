package phrase

import (
	"math"
	"testing"
	"time"
)

func TestPlural(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Plural(0, "frame"), "0 frames"},
		{Plural(1, "frame"), "1 frame"},
		{Plural(2, "frame"), "2 frames"},
		{Plural(2, "trace class"), "2 trace classes"},
		{Plural(1, "class"), "1 class"},
		{Plural(-1, "place"), "-1 places"},
		{Agree(0, "is", "are"), "are"},
		{Agree(1, "is", "are"), "is"},
		{Plural(uint64(math.MaxUint64), "byte"), "18446744073709551615 bytes"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"tools", 5, "tools"},
		{"tools/", 5, "tools…"},
		{"größe", 3, "gr…"}, // not within a character
		{"größe", 4, "grö…"},
		{"\x80\x80\x80", 2, "…"},
		{"a\nb", 5, `"a\nb"`},
		{"a\x1b[2J", 2, `"a\x1b…"`},
		{"\xff", 5, `"\xff"`},
	} {
		if got := Clip(tt.in, tt.limit); got != tt.want {
			t.Errorf("%q in %d: got %s, want %s", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestBrief(t *testing.T) {
	for in, want := range map[time.Duration]string{
		999:                      "999ns",
		1234567:                  "1.23ms",
		1234567890:               "1.235s",
		12*time.Second + 3456789: "12s",
	} {
		if got := Brief(in).String(); got != want {
			t.Errorf("%d: got %s, want %s", in, got, want)
		}
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.FixedZone("", 3600))
	for in, want := range map[string]string{
		"12h":                  "2026-03-01T00:30:00+01:00",
		"1w":                   "2026-02-22T12:30:00+01:00",
		"today":                "2026-03-01T00:00:00+01:00",
		"Yesterday":            "2026-02-28T00:00:00+01:00",
		"2026-02-27":           "2026-02-27T00:00:00+01:00",
		"2026-02-27 15:04":     "2026-02-27T15:04:00+01:00",
		"2026-02-27T15:04:05Z": "2026-02-27T15:04:05Z",
		"soon":                 `"soon": want a duration such as 12h, 7d or 2w, today, yesterday, or a day such as 2026-03-01`,
		"2026-02-30":           `"2026-02-30": want a duration such as 12h, 7d or 2w, today, yesterday, or a day such as 2026-03-01`,
	} {
		got, err := ParseSince(in, now)
		said := got.Format(time.RFC3339)
		if err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%s: got %s, want %s", in, said, want)
		}
	}
}
