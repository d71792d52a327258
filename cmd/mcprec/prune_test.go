package main

import (
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/transport/phrase"
)

func TestAmounts(t *testing.T) {
	for s, want := range map[string]string{
		"12h": "12h0m0s", "7d": "168h0m0s", "2w": "336h0m0s", "1w3d12h": "252h0m0s", "1.5d": "36h0m0s", "0s": "0s",
		"": "", "7": "", "-7d": "", "d": "", "7y": "", "7d-1h": "", "9999999999999w": "", "NaNd": "", "Infd": "",
	} {
		d, err := phrase.ParseAge(s)
		if got := d.String(); err == nil && got != want || err != nil && want != "" {
			t.Errorf("age %q: %s, %v; want %q", s, got, err, want)
		}
	}
	for s, want := range map[string]int64{
		"0": 0, "1000": 1000, "500MB": 500e6, "2GiB": 2 << 30, "1.5k": 1536, "1 MiB": 1 << 20, "3t": 3 << 40,
		"": -1, "-1": -1, "1X": -1, "MB": -1, "1e30": -1, "NaN": -1,
	} {
		if n, err := phrase.ParseSize(s); err == nil && n != want || err != nil && want >= 0 {
			t.Errorf("size %q: %d, %v; want %d", s, n, err, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := output.Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
