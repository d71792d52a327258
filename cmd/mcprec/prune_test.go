package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/store"
)

// retained are sessions, newest first, and what they take.
func retained(now time.Time) ([]store.Session, map[store.SessionID]int64) {
	ci, prod := map[string]string{"env": "ci"}, map[string]string{"env": "prod", "team": "a"}
	session := func(id string, age time.Duration, state store.State, label string, values map[string]string) store.Session {
		x := store.Session{Header: store.Header{ID: store.SessionID(id), Label: label, Labels: values}, State: state}
		if age >= 0 {
			x.Start = now.Add(-age * time.Hour)
		}
		return x
	}
	sessions := []store.Session{ // newest first
		session("live", 30, store.Live, "", ci),
		session("new", 1, store.Ended, "", ci),
		session("day", 24, store.Crashed, "x", prod),
		session("two", 48, store.Ended, "env=ci", nil),
		session("old", 240, store.Ended, "", prod),
		session("none", -1, store.Ended, "", nil),
	}
	sessions[4].Head.At = 100 * time.Hour // it ended later
	return sessions, map[store.SessionID]int64{"live": 10, "new": 20, "day": 30, "two": 40, "old": 50, "none": 60}
}

func TestRetention(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	hours := func(n time.Duration) *time.Duration { n *= time.Hour; return &n }
	number, bytes := func(n int) *int { return &n }, func(n int64) *int64 { return &n }
	sessions, stored := retained(now)
	label := func(list ...string) (l labels) {
		for _, s := range list {
			_ = l.Set(s)
		}
		return l
	}
	for _, c := range []struct {
		r    retention
		want string
	}{
		{retention{}, ""},
		{retention{olderThan: hours(24)}, "old age, two age"},
		{retention{olderThan: hours(139)}, "old age"},
		{retention{olderThan: hours(140)}, ""},
		{retention{olderThan: hours(0), labels: label("env=ci")}, "two age, new age"},
		{retention{keep: number(0)}, "none number, old number, two number, day number, new number"},
		{retention{keep: number(2)}, "none number, old number, two number, day number"},
		{retention{keep: number(9)}, ""},
		{retention{keep: number(1), labels: label("env=prod")}, "old number"},
		{retention{keep: number(0), labels: label("env=prod", "team=b")}, ""},
		{retention{keep: number(0), labels: label("x")}, "day number"},
		{retention{maxSize: bytes(210)}, ""},
		{retention{maxSize: bytes(209)}, "none size"},
		{retention{maxSize: bytes(100)}, "none size, old size"},
		{retention{maxSize: bytes(0)}, "none size, old size, two size, day size, new size"},
		{retention{maxSize: bytes(45), labels: label("env=ci")}, "two size"},
		{retention{maxSize: bytes(100), keep: number(4)}, "none number, old number"},
		{retention{maxSize: bytes(100), olderThan: hours(24)}, "none size, old age, two age"},
	} {
		var got []string
		for _, p := range c.r.pick(sessions, now, 210, stored) {
			got = append(got, fmt.Sprint(p.ID, " ", p.why))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%+v: %s; want %s", c.r, s, c.want)
		}
	}
}

func TestAmounts(t *testing.T) {
	for s, want := range map[string]string{
		"12h": "12h0m0s", "7d": "168h0m0s", "2w": "336h0m0s", "1w3d12h": "252h0m0s", "1.5d": "36h0m0s", "0s": "0s",
		"": "", "7": "", "-7d": "", "d": "", "7y": "", "7d-1h": "", "9999999999999w": "", "NaNd": "", "Infd": "",
	} {
		d, err := session.ParseAge(s)
		if got := d.String(); err == nil && got != want || err != nil && want != "" {
			t.Errorf("age %q: %s, %v; want %q", s, got, err, want)
		}
	}
	for s, want := range map[string]int64{
		"0": 0, "1000": 1000, "500MB": 500e6, "2GiB": 2 << 30, "1.5k": 1536, "1 MiB": 1 << 20, "3t": 3 << 40,
		"": -1, "-1": -1, "1X": -1, "MB": -1, "1e30": -1, "NaN": -1,
	} {
		if n, err := parseSize(s); err == nil && n != want || err != nil && want >= 0 {
			t.Errorf("size %q: %d, %v; want %d", s, n, err, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := terminal.Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
