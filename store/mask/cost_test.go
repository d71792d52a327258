package mask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

// worstTexts are words that make rules look around them, repeated without an end: what a server could say to
// keep the masking busy.
var worstTexts = []string{
	"eyJ", "ewoA", "sk-", "sk-aB1", "LS0t", "LS0tLS1CRUdJTiBE", "-----BEGIN PRIVATE KEY-----", "-----BEGIN A PRIVATE KEY", "-----BEGIN PRIVATE KEY-----\n",
	"-----END PRIVATE KEY-----", "AbCd0123AbCd0123AbCd0123AbCd0123AbCd\n-----END PRIVATE KEY-----", "://", "://a", "a:b@", "a:b1cd@h ", "user:", "password=", `password:\"`, `password="/home/`,
	`auth="`, "token is ", "kind: Secret\n", "kind: Secret\na\n", "kind: Secret kind: Secret ", "apiVersion: v1\n", "machine a login b ", "machine ", `type="password" `, "name: ", "name: password ",
	`name="x" value=`, "a:@tcp(", "set password for ", "bearer ", "basic AAAA", "$2a$", "xoxb-", "4111 ", "411111111111111 ", `{"a":`, "[", `\"`, "v1.local.", "_auth=",
	`response="`, "Cookie: a=", "curl -u ", "curl ", "mysql -p", "--password ", "ENV A", "key: ", "identified by ", "pass", ":AA", "12345678:AA", ":5432:", "a:5432:", "'", "AKIA", "EAAC",
	"t1.", "api-", "0Q~", "JQQJ99", ".atlasv1.", "abcdefghijklmn.atlasv1.", "sid=", "secret ", "<password>", "echo a | sudo -S ", "htpasswd -b ", "sqlplus a", "key_key_key_",
	"code=", "pw=", "user=a|pass=", "a\tpassword\n", " -us", "token:\n", "_mmk", "abcdef_mmk", "password,x\n,\n", "token:", "api_key.", "[redacted:", "//a", "kty ", "{kty", "{ kty ", "name=", "name=token\n", "name=token;", "name=token\na:", "name=token\n\n/home/", "name=x\n\n", "AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP ", "&quot;", "\\x22token\\x22:", "\x1b[", "\x1b[0mtoken:", "%2F%2Fa", "пароль", "пароль:", "\u200btoken: ", "net use ",
}

// ordinaryText is what a server says that has nothing to hide.
func ordinaryText(size int) string {
	const line = "2026-11-22T10:00:00Z INFO request 17 of list_files took 12 ms, 3 files were found in /home/u/project\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// TestDeep masks a message of many levels, each of which makes the next one secret or says how secret it is. A value is
// looked at twice at most: this ends only if it is.
func TestDeep(t *testing.T) {
	const levels = 9000
	m := newMasker(t, Rules{})
	for open, secrets := range map[string]int{
		`{"name":"okta","value":`:                        0,
		`{"name":"okta","value":["a1b2c3d4e5f6a7b8",`:    1, // of the last list: one with more than texts is none of secrets
		`{"user":"a","pass":`:                            levels,
		`{"grant_type":"a","code":`:                      levels,
		`{"kind":"Secret","data":{"a":"eHg=","b":`:       levels/2 + (levels/2 - 1) + 1,
		`{"password":"hunter2x","another member of it":`: levels,
	} {
		in := deep(open, levels/(strings.Count(open, "{")+strings.Count(open, "[")))
		got, n := m.Frame(in)
		if !json.Valid(in) || !json.Valid(got) {
			t.Errorf("%s: no JSON", open)
		}
		if n != secrets {
			t.Errorf("%s: %d secrets", open, n)
		}
	}
}

// deep returns JSON in which the beginning of an object is repeated, with the number 1 at its bottom.
func deep(open string, levels int) []byte {
	closed := strings.NewReplacer("{", "}", "[", "]")
	end := ""
	for _, c := range open {
		if c == '{' || c == '[' {
			end = closed.Replace(string(c)) + end
		}
	}
	return []byte(strings.Repeat(open, levels) + "1" + strings.Repeat(end, levels))
}

// forms are how a text reaches the Masker: as a text of a message, and in lines of standard error.
var forms = map[string]func(m *Masker, text string){
	"text":   func(m *Masker, text string) { m.Text([]byte(text)) },
	"result": func(m *Masker, text string) { m.Frame(result(text)) },
	"lines": func(m *Masker, text string) {
		s := m.Session()
		for line := range strings.Lines(text) {
			for at := 0; at < len(line); at += 100 {
				s.Event(store.Event{Kind: store.Stderr, Payload: []byte(line[at:min(len(line), at+100)])})
			}
		}
	},
}

func result(text string) []byte {
	quoted, _ := json.Marshal(text) // a text can always be encoded
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":%s}]}}`, quoted)
}
