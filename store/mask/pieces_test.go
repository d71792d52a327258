package mask

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// keyLines returns so many lines of base64, as private keys have them.
func keyLines(number int) []string {
	random := rand.NewChaCha8([32]byte{1})
	var lines []string
	for range number {
		b := make([]byte, 48)
		_, _ = random.Read(b) // never fails
		lines = append(lines, base64.StdEncoding.EncodeToString(b))
	}
	return append(lines, lines[0][:10]+"==")
}

// longSecrets are secrets of several lines: the lines in front, those of the secret, and those behind.
var longSecrets = map[string][3][]string{
	"RSA 8192":      {{"-----BEGIN RSA PRIVATE KEY-----"}, keyLines(99), {"-----END RSA PRIVATE KEY-----"}},
	"PKCS 8":        {{"-----BEGIN PRIVATE KEY-----"}, keyLines(120), {"-----END PRIVATE KEY-----"}},
	"encrypted":     {{"-----BEGIN RSA PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF", ""}, keyLines(20), {"-----END RSA PRIVATE KEY-----"}},
	"PGP":           {{"-----BEGIN PGP PRIVATE KEY BLOCK-----", "Version: GnuPG v2", "Comment: of a test", ""}, append(keyLines(30), "=aB3d"), {"-----END PGP PRIVATE KEY BLOCK-----"}},
	"OpenSSH":       {{"-----BEGIN OPENSSH PRIVATE KEY-----"}, keyLines(20), {"-----END OPENSSH PRIVATE KEY-----"}},
	"SSH2":          {{"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----", `Comment: "a key"`}, keyLines(20), {"---- END SSH2 ENCRYPTED PRIVATE KEY ----"}},
	"PuTTY":         {{"PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Comment: a key", "Private-Lines: 21"}, keyLines(20), {"Private-MAC: 0123456789abcdef"}},
	"narrow":        {{"-----BEGIN PRIVATE KEY-----"}, narrow(keyLines(60)), {"-----END PRIVATE KEY-----"}},
	"of a log":      {{"[INFO] the key -----BEGIN PRIVATE KEY-----"}, prefixed("[INFO] ", keyLines(20)), {"[INFO] -----END PRIVATE KEY-----"}},
	"of a sentence": {{"the old key -----BEGIN PRIVATE KEY----- goes on in what follows here"}, keyLines(20), {"-----END PRIVATE KEY-----"}},
	"of JSON":       {{`{"key": "-----BEGIN PRIVATE KEY-----`}, keyLines(20), {`-----END PRIVATE KEY-----", "a": 1}`}},
	"Kubernetes":    {{"kind: Secret", "metadata:", "  name: a", "data:"}, prefixed("  entry: ", keyLines(20)), {"type: Opaque"}},
	"in a list":     {{"items:", "- kind: Secret", "  data:"}, prefixed("    entry: ", keyLines(20)), {"  type: Opaque"}},
	"netrc":         {{"machine h", "  login u"}, []string{"  password w1x2y3"}, {"machine other"}},
	"of a name":     {{"env:", "- name: API_KEY"}, []string{"  value: w1x2y3z4"}, {"- name: FOO"}},
	"below a name":  {{"token:"}, []string{"  w1x2y3z4"}, {"other: x"}},
	"CSV":           {{"user,password,age"}, []string{"bob,w1x2y3z4,4", "eve,5z4y3x2w,4"}, {"the end"}},
	"command":       {{`curl https://h \`}, []string{`  -u admin:w1x2y3z4 \`}, {"  -v"}},
}

// narrow returns the lines folded to 24 bytes.
func narrow(lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, pieces(line, 24)...)
	}
	return all
}

func prefixed(prefix string, lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, prefix+line)
	}
	return all
}

// cuts are the ways in which a text comes in pieces.
var cuts = map[string]func(text string) []string{
	"whole": func(text string) []string { return []string{text} },
	"lines": func(text string) []string { return strings.SplitAfter(text, "\n") },
	"ends": func(text string) []string {
		return strings.SplitAfter(strings.ReplaceAll(text, "\n", "\x00\n\x00"), "\x00")
	},
	"of 4000": func(text string) []string { return pieces(text, 4000) },
	"of 97":   func(text string) []string { return pieces(text, 97) },
	"of 7":    func(text string) []string { return pieces(text, 7) },
	"of 1":    func(text string) []string { return pieces(text, 1) },
}

func pieces(text string, size int) (all []string) {
	for ; len(text) > size; text = text[size:] {
		all = append(all, text[:size])
	}
	return append(all, text)
}

// TestLongSecrets holds that a secret of several lines goes to its end, however it is cut, and that what stands around
// it stays.
func TestLongSecrets(t *testing.T) {
	m := newMasker(t, Rules{})
	for name, secret := range longSecrets {
		const front, behind = "plain in front\n", "plain behind\n"
		text := front + strings.Join(slices.Concat(secret[0], secret[1], secret[2]), "\n") + "\n" + behind
		for cut, pieces := range cuts {
			for form, event := range pieceEvents {
				if form == "lines of stdout" && cut != "lines" || form == "bodies" && cut == "of 1" {
					continue
				}
				s := m.Session()
				all := ""
				for _, piece := range pieces(text) {
					piece = strings.ReplaceAll(piece, "\x00", "")
					if piece == "" {
						continue
					}
					if cut == "lines" {
						s.Event(store.Event{Kind: store.Frame, Payload: []byte(`{"jsonrpc":"2.0","method":"ping","id":1}`)})
					}
					all += event(s, piece)
				}
				if !strings.HasPrefix(all, front) || !strings.HasSuffix(all, behind) {
					t.Errorf("%s, %s in %s: %.80q…%q", name, form, cut, all, all[max(0, len(all)-80):])
				}
				for _, line := range secret[1] {
					_, value, isField := strings.Cut(line, ": ")
					if !isField {
						words := strings.Fields(strings.TrimRight(line, `\ `))
						value = words[len(words)-1]
					}
					if (len(value) >= 8 || cut == "whole") && strings.Contains(all, value) {
						t.Errorf("%s, %s in %s: %q is left", name, form, cut, line)
						break
					}
				}
			}
		}
	}
}

// pieceEvents return what a Session makes of a piece.
var pieceEvents = map[string]func(s *Session, piece string) string{
	"stderr": func(s *Session, piece string) string {
		return string(s.Event(store.Event{Kind: store.Stderr, Payload: []byte(piece)}).Payload)
	},
	"lines of stdout": func(s *Session, piece string) string {
		line, hasEnd := strings.CutSuffix(piece, "\n")
		e := store.Event{Kind: store.Frame, Payload: []byte(line)}
		if MayWait(e) {
			return fmt.Sprintf("%q may wait", line)
		}
		masked := string(s.Event(e).Payload)
		if hasEnd {
			masked += "\n"
		}
		return masked
	},
	"bodies": func(s *Session, piece string) string {
		got := s.Event(store.Event{Kind: store.HTTP, Stream: 7, Payload: store.EncodePayload(&store.HTTPInfo{What: store.HTTPBody, Body: piece})})
		info, err := store.DecodePayload[store.HTTPInfo](got)
		if err != nil {
			panic(err)
		}
		return info.Body + string(info.Body64)
	},
}

// TestPass holds that a reader that begins in the middle of a secret masks what one does that reads it from its
// beginning, if it passes the events before.
func TestPass(t *testing.T) {
	m := newMasker(t, Rules{})
	for name, secret := range longSecrets {
		lines := slices.Concat([]string{"plain in front"}, secret[0], secret[1], secret[2], []string{"plain behind"})
		for form, eventOf := range map[string]func(line string) store.Event{
			"stderr": func(line string) store.Event {
				return store.Event{Kind: store.Stderr, Payload: []byte(line + "\n")}
			},
			"stdout": func(line string) store.Event { return store.Event{Kind: store.Frame, Payload: []byte(line)} },
			"bodies": func(line string) store.Event {
				return store.Event{Kind: store.HTTP, Payload: store.EncodePayload(&store.HTTPInfo{What: store.HTTPBody, Body: line + "\n"})}
			},
		} {
			whole := m.Session()
			var want []store.Event
			for _, line := range lines {
				want = append(want, whole.Event(eventOf(line)))
			}
			for from := range lines {
				s := m.Session()
				for _, line := range lines[:from] {
					s.Pass(eventOf(line))
				}
				for k, line := range lines[from:] {
					if got := s.Event(eventOf(line)); !got.Equal(want[from+k]) {
						t.Fatalf("%s in %s from line %d: %s became %s, want %s", name, form, from, line, got.Payload, want[from+k].Payload)
					}
				}
			}
		}
	}
}

// TestMaskedBefore holds that a key whose first lines were masked before, as by record --mask, is masked to its end; and
// that what is masked stays as it is.
func TestMaskedBefore(t *testing.T) {
	m := newMasker(t, Rules{})
	key := slices.Concat([]string{"-----BEGIN PRIVATE KEY-----"}, keyLines(99), []string{"-----END PRIVATE KEY-----", "plain"})
	first := m.Session()
	second := m.Session()
	for k, line := range key {
		e := store.Event{Kind: store.Stderr, Payload: []byte(line + "\n")}
		masked := first.Event(e)
		if again := m.Session().Event(masked); !again.Equal(masked) {
			t.Errorf("%s masked again is %s", masked.Payload, again.Payload)
		}
		if k < 50 {
			e = masked
		}
		if got := second.Event(e); !bytes.Equal(got.Payload, masked.Payload) {
			t.Errorf("line %d: %s, want %s", k, got.Payload, masked.Payload)
		}
	}
}

// FuzzPieces holds that a text in pieces stays what it is where nothing is counted.
func FuzzPieces(f *testing.F) {
	for _, secret := range longSecrets {
		f.Add([]byte(strings.Join(slices.Concat(secret[0], secret[1][:min(3, len(secret[1]))], secret[2]), "\n")), uint8(9))
	}
	for _, word := range worstTexts {
		f.Add([]byte(word+word), uint8(3))
	}
	m := newMasker(f, Rules{})
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		s := m.Session()
		for piece := range slices.Chunk(in, int(size)+1) {
			e := store.Event{Kind: store.Stderr, Payload: piece}
			if got := s.Event(e); got.Redacted == 0 && !bytes.Equal(got.Payload, piece) {
				t.Fatalf("%q became %q, and nothing is counted", piece, got.Payload)
			}
		}
	})
}
