package mask

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
)

// sample is a text with a secret.
type sample struct{ rule, text, secret string }

// publicSamples reads testdata/gitleaks.txt.
func publicSamples(t *testing.T) (all []sample) {
	t.Helper()
	file, err := os.ReadFile("testdata/gitleaks.txt")
	if err != nil {
		t.Fatal(err)
	}
	var templates []string
	for line := range strings.Lines(string(file)) {
		if line[0] == '#' {
			continue
		}
		head, quoted, _ := strings.Cut(line, ` "`)
		var text string
		if err := json.Unmarshal([]byte(`"`+quoted), &text); err != nil {
			t.Fatal(line, err)
		}
		switch args := strings.Fields(head); args[0] {
		case "template":
			templates = append(templates, text)
		case "secret":
			secret := unrotate(text)
			for _, template := range templates {
				in := strings.NewReplacer("{id}", args[2], "{ID}", strings.ToUpper(args[2]), "«»", secret).Replace(template)
				all = append(all, sample{args[1], in, secret})
			}
		case "text":
			secret := unrotate(marks.FindStringSubmatch(text)[1])
			all = append(all, sample{args[1], marks.ReplaceAllLiteralString(text, secret), secret})
		}
	}
	return all
}

// unrotate takes back what keeps the secrets of gitleaks.txt from being found by scanners.
func unrotate(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return (r-'0'+5)%10 + '0'
		case r >= 'a' && r <= 'z':
			return (r-'a'+13)%26 + 'a'
		case r >= 'A' && r <= 'Z':
			return (r-'A'+13)%26 + 'A'
		}
		return r
	}, s)
}

// TestPublicSamples puts each sample of a public rule set into four places: the text of a
// result, JSON within it, a longer text, and a line of stderr. The leaks are known, fewer than 4 in
// 1,000: a rule that leaks more has become worse, and one that leaks less belongs here.
func TestPublicSamples(t *testing.T) {
	m := newMasker(t, Rules{})
	quote := func(s string) string {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(s); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(b.String())
	}
	inResult := func(s string) []byte {
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + quote(s) + `}],"isError":false}}`)
	}
	textOf := func(b []byte) string {
		var frame struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(b, &frame); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		return frame.Result.Content[0].Text
	}
	places := []func(string) string{
		func(s string) string { b, _ := m.Frame(inResult(s)); return textOf(b) },
		func(s string) string {
			b, _ := m.Frame(inResult(`{"a":1,"output":` + quote(s) + `}`))
			var inner struct{ Output string }
			if err := json.Unmarshal([]byte(textOf(b)), &inner); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			return inner.Output
		},
		func(s string) string {
			b, _ := m.Frame(inResult("The file config/app.conf has 3 lines:\n\n" + s + "\n\nThese were all of them.\n"))
			return textOf(b)
		},
		func(s string) string { b, _ := m.Text([]byte("2026-11-22T10:00:00Z INFO read " + s)); return string(b) },
	}
	all, leaks, byRule := 0, 0, map[string]int{}
	for _, s := range publicSamples(t) {
		for _, masked := range places {
			all++
			if strings.Contains(masked(s.text), s.secret) {
				leaks++
				byRule[s.rule]++
			}
		}
	}
	known := map[string]int{
		"1password-secret-key": 4, "asana-client-id": 8, "curl-auth-header": 4, "curl-auth-user": 12, "discord-client-id": 8,
		"discord-client-secret": 8, "facebook-access-token": 8, "generic-api-key": 4, "jwt-base64": 24,
		"messagebird-client-id": 4, "telegram-bot-api-token": 4,
	}
	if t.Logf("%d of %d leak: %v", leaks, all, byRule); all < 20_000 || !maps.Equal(byRule, known) {
		t.Errorf("of %d samples %d leak: %v, known are %v", all, leaks, byRule, known)
	}
}
