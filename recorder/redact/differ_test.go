package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
)

// thorough returns a Redactor of the same rules that takes everything apart.
func thorough(r *Redactor) *Redactor {
	other := *r
	other.always = true
	other.patterns = []*regexp.Regexp{regexp.MustCompile(`[^\x00-\x{10FFFF}]`)} // of which all has to be seen
	return &other
}

// inStretches redacts a frame that comes cut at some places.
func inStretches(r *Redactor, in []byte, cuts ...int) (out []byte, n int) {
	s, from := r.Stream(false), 0
	for _, c := range cuts {
		b, k := s.Next(in[from:c:c], true)
		out, n, from = append(out, b...), n+k, c
	}
	b, k := s.Next(in[from:], false)
	return append(out, b...), n + k
}

// planted are secrets, with what makes them one.
func planted() []string {
	list := []string{"password=hunter2abc", `\"password\":\"hunter2\"`, "Bearer abcdef123456", "https://u:hunter2@example.com", "sshpass -p hunter2 x",
		`\u0070assword=hunter2abc`, `\u003cpassword\u003ehunter2\u003c/password\u003e`, `Cookie: session=a1b2c3d4e5f6`, "open sesame", "api_key: abcd1234efgh5678", jwt}
	for i := range shapes {
		s := &shapes[i]
		body := strings.Repeat("a1B2c3D4e5", 20)
		if s.class == hexa || s.class == upper {
			body = strings.Repeat("A1B2C3D4E5", 20)
		}
		list = append(list, s.prefix+body[:max(s.least, min(s.least+4, s.most))]+" ")
	}
	return list
}

// noise is text of a kind, without secrets.
func noise(rnd *rand.Rand, kind, size int) string {
	alphabet := []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "the token is a key, and auth passes: see sk-learn. ", "é☃ -_.:/~<>&"}[kind]
	var b strings.Builder
	for b.Len() < size {
		switch from := rnd.IntN(len(alphabet)); {
		case kind == 0:
			b.WriteByte(alphabet[from])
		case kind == 1:
			b.WriteString(strings.ToValidUTF8(alphabet[from:], ""))
		default:
			b.WriteString(strings.ToValidUTF8(alphabet[from:min(len(alphabet), from+4)], `\n`))
		}
	}
	return b.String()
}

// Where taking a frame apart finds a secret the first look never says that there is
// none: whatever is around it, wherever it stands, and however the frame is cut.
func TestFirstLookMissesNothing(t *testing.T) { atEachWidth(t, missesNothing) }

func missesNothing(t *testing.T) {
	quick := newRedactor(t, Rules{Values: []string{"open sesame"}})
	slow := thorough(quick)
	rnd := rand.New(rand.NewPCG(3, 4))
	found := 0
	step, places := 3, 0
	if os.Getenv("MCPREC_SOAK") != "" {
		step = 1
	}
	for i, secret := range planted() {
		for at := i % step; at < 70; at += step { // all of them, of secrets that follow each other
			places++
			before, behind := noise(rnd, (i+at)%3, at), noise(rnd, (i+at)%2, rnd.IntN(80))
			in := fmt.Appendf(nil, `{"result":{"content":[{"text":"%s %s%s"},{"n":1,"ok":true}]}}`, before, secret, behind)
			want, wantN := slow.Frame(in)
			if got, n := quick.Frame(in); !bytes.Equal(got, want) {
				t.Fatalf("%s\nbecame %s (%d)\nwant   %s (%d)", in, got, n, want, wantN)
			}
			if found += wantN; places%7 != 0 {
				continue
			}
			cut := rnd.IntN(len(in))
			for _, cuts := range [][]int{{cut}, {cut / 2, cut}, {cut, cut, cut + (len(in)-cut)/2}} {
				want, wantN := inStretches(slow, in, cuts...)
				if got, n := inStretches(quick, in, cuts...); !sameMasks(string(got), string(want)) || n != wantN {
					t.Fatalf("%s\ncut at %v became %s (%d)\nwant %s (%d)", in, cuts, got, n, want, wantN)
				}
			}
		}
	}
	if found < places/2 {
		t.Errorf("only %d secrets in all: this tests nothing", found)
	}
}
