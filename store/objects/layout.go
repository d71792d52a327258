package objects

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

// The names of objects below the prefix of the bucket.
const (
	root           = "v1/"
	marks          = root + "ids/"
	sessionSuffix  = ".mcprec.zst"
	summarySuffix  = ".json"
	dayFormat      = "2006/01/02"
	uuidTimeDigits = 12 // hex digits of the milliseconds at the start of a version 7 id
)

// dayOf returns the day of a time as it stands in keys.
func dayOf(start time.Time) string { return start.UTC().Format(dayFormat) }

func sessionKey(day string, id store.SessionID) string {
	return root + day + "/" + string(id) + sessionSuffix
}

func summaryKey(day string, id store.SessionID) string {
	return root + day + "/" + string(id) + summarySuffix
}

func markKey(id store.SessionID) string { return marks + string(id) + summarySuffix }

// idTime returns the time in a version 7 id.
func idTime(id store.SessionID) (made time.Time, ok bool) {
	bytes, err := id.Bytes()
	if err != nil || bytes[6]>>4 != 7 {
		return time.Time{}, false
	}
	var wide [8]byte
	copy(wide[2:], bytes[:6])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(wide[:]))).UTC(), true
}

// idDay returns the day in a version 7 id; "" for other ids, and for a time beyond the year 9999.
func idDay(id store.SessionID) string {
	made, ok := idTime(id)
	if !ok || made.Year() > 9999 {
		return ""
	}
	return dayOf(made)
}

// span is a range of days, both included; "" is open.
type span struct{ first, last string }

// spanOf returns the days of the version 7 ids with a prefix.
func spanOf(prefix string) span {
	digits := strings.ReplaceAll(prefix, "-", "")
	digits = digits[:min(len(digits), uuidTimeDigits)]
	first, err := millis(digits + strings.Repeat("0", uuidTimeDigits-len(digits)))
	last, fault := millis(digits + strings.Repeat("f", uuidTimeDigits-len(digits)))
	if digits == "" || err != nil || fault != nil {
		return span{}
	}
	return span{dayOf(first), dayOf(last)}
}

// millis returns the time of twelve hex digits, at most the end of the year 9999.
func millis(digits string) (time.Time, error) {
	bytes, err := hex.DecodeString("0000" + digits)
	if err != nil {
		return time.Time{}, err
	}
	end := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	return time.UnixMilli(int64(min(binary.BigEndian.Uint64(bytes), uint64(end.UnixMilli()), math.MaxInt64))).UTC(), nil
}

// holds reports whether the span has days below a part of a day such as "2026" or "2026/11".
func (s span) holds(part string) bool {
	return (s.first == "" || s.first[:len(part)] <= part) && (s.last == "" || part <= s.last[:len(part)])
}

// parseKey returns the day and the id of the key of a session or a summary.
func parseKey(key string) (day string, id store.SessionID, isSession, ok bool) {
	rest, ok := strings.CutPrefix(key, root)
	if !ok || len(rest) <= len(dayFormat) || rest[len(dayFormat)] != '/' {
		return "", "", false, false
	}
	day = rest[:len(dayFormat)]
	name, isSession := strings.CutSuffix(rest[len(dayFormat)+1:], sessionSuffix)
	if !isSession {
		name, ok = strings.CutSuffix(name, summarySuffix)
	}
	if id, err := store.ParseSessionID(name); ok && err == nil && string(id) == name {
		return day, id, isSession, true
	}
	return "", "", false, false
}
