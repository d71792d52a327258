package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func newRedactor(t testing.TB, rules Rules) *Redactor {
	t.Helper()
	r, err := New([]byte("a key of a test"), rules)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzZXNhbWUifQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

// In the tables below what is between « and » is the secret.
var frames = []string{
	// By the name of a member.
	`{"params":{"arguments":{"password":"«sesame»"}}}`,
	`{"params":{"arguments":{"password":«12345»,"n":12345}}}`,
	`{"params":{"arguments":{"apiKey":"«w»","api_key":"«y»","API-KEY":"«z»","key":"k","keys":["k"]}}}`,
	`{"params":{"arguments":{"accessToken":"«a»","refresh_token":"«b»","token":"«c»","tokens":["«d»","«e»"]}}}`,
	`{"params":{"arguments":{"Authorization":"Bearer «abc»","cookie":"«a=b; c=d»"}}}`,
	`{"params":{"arguments":{"credentials":{"user":"«u»","a":{"b":[«1»,"«c»",true,null]}}}}}`,
	`{"params":{"arguments":{"db_pass":"«p»","pass":"fine","SMTP_PASSWORD":"«p»","passwordHint":"cat"}}}`,
	`{"params":{"arguments":{"deploy_key":"«p»","sprocket_key":"«a1b2c3d4e5f6a7b8c9»","service_foo_key":"plain words"}}}`,
	`{"params" : { "arguments" : { "password" : "«a \"quoted\" \\ one»" , "x":1}}}`,
	`{"p\u0061ssword":"«p»"}`,
	`{"password":"","token":null,"secret":true,"client_secret":"${SECRET}"}`,
	`{"usage":{"input_tokens":1234567,"maxTokens":1000000,"nextPageToken":"CAUQAA","token_type":"x","tokens":12345678}}`,
	`{"public_key":"AAAAB3NzaC1yc2EAAAADAQABAAABgQ12345","primary_key":"id","sort_key":"a1b2c3d4e5f6a7b8c9d0"}`,
	// By its shape.
	`{"params":{"arguments":{"q":"use «ghp_0123456789abcdefghijABCDEFGHIJ012345» now"}}}`,
	`{"params":{"arguments":{"q":"«` + jwt + `»."}}}`,
	`{"params":{"arguments":["«sk-ant-api03-abcdefghijklmnop-qrstuv»","a-desk-top","task-0123456789abcdefghij0"]}}`,
	`{"error":{"code":1,"message":"Incorrect API key provided: «sk-proj-aaaaBBBBccccDDDD1234». You can find"}}`,
	`{"error":{"message":"401 for https://u:«hunter2»@example.com/x?api_key=«abc»&page=2#token=«q»"}}`,
	`{"a":"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n","b":"-----BEGIN CERTIFICATE-----"}`,
	`{"a":"Basic «dXNlcjpwYXNzd29yZA==»","b":"Basic authentication","c":"Bearer «abcdef123456»","d":"Bearer authentication"}`,
	`{"«AKIAIOSFODNN7EXAMPLE»":1}`,
	`{"a":"Password=«hunter2»;Server=x","b":"AccountKey=«abcdefghijklmnop12==»;"}`,
	`{"a":"password: «hunter2!»","b":"Token: required","c":"password = getPassword()","d":"export TOKEN=«abc123def456»"}`,
	`{"a":"curl -H \"Authorization: Bearer «abcdef123456»\" -H 'X-Api-Key: «abcdef123456»' --api-key «abcdef123456» x"}`,
	`{"a":"\u0041\u004bIAIOSFODNN7EXAMPLE"}`,
	`{"a":"A=1\npwd='«hunter2»'\ntoken='«abcd1234»'\u0026api_key=«abcd1234»"}`,
	// Behind an escape, whose letter is of no word, and with escapes in them.
	`{"a":"\n«ghp_0123456789abcdefghijABCDEFGHIJ012345»\n","b":"x\t«AKIAIOSFODNN7EXAMPLE»"}`,
	`{"a":"\u003c«ghp_0123456789abcdefghijABCDEFGHIJ012345»>"}`,
	`{"a":"x\r\n«` + jwt + `»\n","b":"\nbasic «dXNyOkFiQ2RFZkdoSWpLbE0=»"}`,
	`{"a":"{\"b\":\"\\n«ghp_0123456789abcdefghijABCDEFGHIJ012345»\"}"}`,
	`{"a":"xghp_0123456789abcdefghijABCDEFGHIJ012345"}`,
	`{"a":"«sntrys_eyJpYXQi\/abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRS\/TUV»"}`,
	`{"a":"«1\/\/0gAbCdEfGhIjKlMnOpQrSt9uvWxYz0123456»"}`,
	`{"a":"password=«\u043f\u0430y2izm7u7» b"}`,
	`{"a":"Cookie: «session=a1b2c3d4e5f6; theme=dark»\nHost: x","b":"Cookie: the small ones"}`,
	`{"a":"«pat-na1-01234567-89ab-cdef-0123-456789abcdef»"}`,
	// In JSON that is in a string.
	`{"text":"{\"password\":\"«hunter2»\",\"pin\":1,\"secret\":12345}"}`,
	`{"text":"{\"text\":\"{\\\"password\\\":\\\"«hunter2»\\\",\\\"x\\\":\\\"y\\\"}\"}"}`,
	`{"text":"{\"tokens\":[\"«a1»\",\"«b2»\"],\"a\":[1]}"}`,
	`{"text":"{\u0022password\u0022:\u0022«hunter2»\u0022}"}`,
	`{"text":"{\n  \"api_key\": \"«abc»\"\n}"}`,
	// Protocol fields.
	`{"jsonrpc":"2.0","id":"ghp_0123456789abcdefghijABCDEFGHIJ012345","method":"token=abcdef123456"}`,
	`{"params":{"_meta":{"progressToken":"ghp_0123456789abcdefghijABCDEFGHIJ012345"},"name":"get_token","cursor":"` + jwt + `"}}`,
	`{"params":{"progressToken":"` + jwt + `","progress":1,"requestId":"` + jwt + `","taskId":"` + jwt + `"}}`,
	`{"result":{"nextCursor":"` + jwt + `","tools":[{"name":"token=abcdef12","inputSchema":{"properties":{"password":{"type":"string","default":"x"}},"dependentRequired":{"password":["confirm"]}}}]}}`,
	`{"result":{"protocolVersion":"x","capabilities":{"experimental":{"token":"yes"}},"serverInfo":{"name":"` + jwt + `"}}}`,
	`{"params":{"uri":"https://u:«pw»@h/«ghp_0123456789abcdefghijABCDEFGHIJ012345»/token=abc?token=«abc»&x=1"}}`,
	`{"params":{"requestState":"a «` + jwt + `» b","inputResponses":{}}}`,
	`{"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"` + jwt + `","io.modelcontextprotocol/clientInfo":{"token":"x"}}}}`,
	`[{"id":"` + jwt + `"},{"params":{"arguments":{"id":"«` + jwt + `»","name":"«` + jwt + `»"}}}]`,
	// Around colours, and what Markdown has for bold.
	`{"a":"\u001b[32m«ghp_0123456789abcdefghijABCDEFGHIJ012345»\u001b[0m \u001b[1;31mpwd=«hunter2»\u001b[0m \\033[32m«AKIAIOSFODNN7EXAMPLE»"}`,
	`{"a":"\u001b[36mtoken=\u001b[0m«abcd1234» \u001b[36mpassword\u001b[0m: \u001b[33m«hunter2»\u001b[0m","b":"**Password:** «hunter2»"}`,
	`{"a":"\u001b[36mpassword\u001b[0m: \u001b[33m«hunter2»\u001b[0m"}`,
	"\x1b[2K\x1b[38;5;12m«ghp_0123456789abcdefghijABCDEFGHIJ012345»\x1b[0m",
	`{"a":"[32mghp_x01234567890123456789012345678901234"}`,
	// Behind a type.
	`{"a":"const apiKey: string = '«abcd1234»'; let password: &str = \"«hunter2»\"; token: str = get()"}`,
	// Of random letters with hardly a digit.
	`{"a":"X-Api-Key: «VArKjsJAtXEdXHPdKFjKvoKi» key: getUserAuthenticationToken","b":"cmd --api-key «alShoISFGwZzzKguVo3usCHS» -v","c":"«LTAIMUKQuwQEMLtdXuSGrQKZ»"}`,
	// Of commands, elements and sessions.
	`{"a":"CREATE USER u IDENTIFIED BY '«a b c»'; ALTER USER u IDENTIFIED BY \"«hunter2»\"","b":"it is identified by 'name' x"}`,
	`{"a":"<password><![CDATA[«hunter2»]]></password>","b":"<password><![CDATA[]]></password>"}`,
	`{"a":"first\ncurl -u admin:«hunter2» https://x"}`,
	`{"a":"sshpass -p «hunter2» ssh x; sshpass -p '«a b c»' ssh; sshpass -p«hunter3» x","b":"sshpass -f file -p x; sshpass -p $PASS ssh"}`,
	`{"a":"curl -s -u admin:«hunter2» https://x","b":"curl --user \"admin:«a b c»\" x"}`,
	`{"a":"docker run -u 1000:1000 x","b":"curl -u admin https://x","c":"curl -u $A:$B x","d":"curl x | id -u a:bcd"}`,
	`{"a":"<password>«hunter2»</password><apiToken>«abcd1234»</apiToken>","b":"<token>word</token> <password>a <b>","c":"use <password> here"}`,
	`{"a":"\u003cpassword\u003e«hunter2»\u003c/password\u003e","b":"<password></password>"}`,
	`{"a":"JSESSIONID=«0123456789ABCDEF0123456789ABCDEF»; Path=/","b":"JSESSIONID=none","c":"the JSESSIONID cookie"}`,
	`{"a":"abc8Q~x abc«8Q~abcdefghijABCDEFGHIJ01234_.~-abc»","b":"«SSWS 00abcdefghijklmnopqrstuvwxyz0123456789ABCD»","c":"SSWS is Okta's","d":"Authorization: Bot «MTk4NjIyNDgzNDcx.Cl2FMQ.ZnCjm1XVW7v»"}`,
	// What only begins like JSON is text from where that breaks; a string alone is JSON.
	`[INFO] token=«abcdef123456» used`,
	`[2026-01-01 12:00:00] INFO «ghp_0123456789abcdefghijABCDEFGHIJ012345»`,
	`{'user': 'u', 'password': '«hunter2»', 'x': None}`,
	`{"id":1,"a":NaN,"method":"ghp_0123456789abcdefghijABCDEFGHIJ012345","password":"«hunter2»"}`,
	`{"password"=>"«hunter2»", "a"=>1} api_key=«abcd1234»`,
	`{"a":1} password=«hunter2abc»`,
	`"a\b pwd='«hunter2 »"`,
	`  "password": "«hunter2»",`,
	`"nothing" but words`,
	// Nothing at all.
	`{"a":"5f4dcc3b5aa765d61d8327deb882cf99 0191c0de-0000-7000-8000-000000000000 keyboard monkey tokens author"}`,
	`{"a":"the token is used to authenticate; a secret: it is hidden. Pass the key as ` + "`key`" + `. password"}`,
	`{"a":"self.token = self.get_token(); if token == other: pass","b":"type Token struct { Key string }"}`,
}

// unmark returns a marked text as it was, and as it is to be.
func unmark(r *Redactor, marked string) (in, out string) {
	mark := regexp.MustCompile(`«[^»]*»`)
	in = strings.NewReplacer("«", "", "»", "").Replace(marked)
	out = regexp.MustCompile(`([:\[,])(«[0-9]+»)`).ReplaceAllString(marked, `$1"$2"`) // a number becomes a string
	out = mark.ReplaceAllStringFunc(out, func(s string) string {
		secret := strings.TrimSuffix(strings.TrimPrefix(s, "«"), "»")
		var plain string
		if json.Unmarshal([]byte(`"`+secret+`"`), &plain) == nil {
			secret = plain
		}
		return r.Mask(secret)
	})
	return in, out
}

func TestFrames(t *testing.T) {
	r := newRedactor(t, Rules{})
	for _, marked := range slices.Concat(frames, apartFrames, aheadFrames, commandFrames, proseFrames, tailFrames, wholeFrames, layoutFrames, operatorFrames, vendorFrames, partFrames, partTails) {
		in, want := unmark(r, marked)
		got, n := r.Frame([]byte(in))
		switch {
		case strings.Contains(marked, "BEGIN RSA"):
			want = `{"a":"` + r.Mask("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----") + `\n","b":"-----BEGIN CERTIFICATE-----"}`
		case strings.Contains(marked, `\u0041`):
			want = `{"a":"` + r.Mask("AKIAIOSFODNN7EXAMPLE") + `"}`
		case strings.Contains(marked, `\"secret\":12345`):
			want = strings.Replace(want, `\"secret\":12345`, `\"secret\":\"`+r.Mask("12345")+`\"`, 1)
		}
		if string(got) != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
		if json.Valid([]byte(in)) && !json.Valid(got) {
			t.Errorf("%s\nbecame %s, which is not JSON", in, got)
		}
		if (n > 0) != (string(got) != in) {
			t.Errorf("%s: %d replaced", in, n)
		}
		if again, n := r.Frame(got); n != 0 || !bytes.Equal(again, got) {
			t.Errorf("%s\nbecame, redacted again, %s", got, again)
		}
	}
}

// Cut anywhere, and into any stretches, a frame becomes the same.
func TestStretches(t *testing.T) {
	r := newRedactor(t, Rules{Values: []string{"open sesame"}})
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, marked := range append(slices.Concat(frames, apartFrames, commandFrames, proseFrames, tailFrames, layoutFrames, operatorFrames, vendorFrames, partFrames), `{"a":"say «open sesame» to it"}`, `not JSON but token=«abc123def456» here`) {
		in, _ := unmark(r, marked)
		want, wantN := r.Frame([]byte(in))
		for cut := range len(in) {
			cuts := []int{cut}
			if cut%3 == 0 {
				cuts = []int{rnd.IntN(cut + 1), cut}
			}
			s, from, n := r.Stream(false), 0, 0
			var got []byte
			for _, c := range cuts {
				b, k := s.Next([]byte(in[from:c]), true)
				got, n, from = append(got, b...), n+k, c
			}
			b, k := s.Next([]byte(in[from:]), false)
			if got, n = append(got, b...), n+k; !sameMasks(string(got), string(want)) || n != wantN {
				t.Errorf("%s\ncut at %v became %s (%d)\nwant %s (%d)", in, cuts, got, n, want, wantN)
			}
		}
	}
}

// sameMasks reports whether two texts are the same, but that one byte, or its escape,
// may be left in front of a placeholder: of a secret that was cut after it.
func sameMasks(got, want string) bool {
	mask := regexp.MustCompile(`\[redacted:[0-9a-f]{16}\]`)
	if !slices.Equal(mask.FindAllString(got, -1), mask.FindAllString(want, -1)) {
		return false
	}
	g, w := mask.Split(got, -1), mask.Split(want, -1)
	for i := range w {
		extra, ok := strings.CutPrefix(g[i], w[i])
		if !ok || len(extra) > 1 && !strings.HasPrefix(extra, `\u00`) || extra != "" && i == len(w)-1 {
			return false
		}
	}
	return true
}

func TestLines(t *testing.T) {
	r := newRedactor(t, Rules{})
	s := r.Stream(true)
	got := ""
	for _, line := range []string{"2026-01-01 INFO token=abcdef123456 used", `{"level":"info","password":"hunter2"}`,
		"-----BEGIN OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXktdjEAAAAA", "", "-----END OPENSSH PRIVATE KEY-----", "done"} {
		b, _ := s.Next([]byte(line), false)
		got += string(b) + "\n"
	}
	want := fmt.Sprintf("2026-01-01 INFO token=%s used\n{\"level\":\"info\",\"password\":\"%s\"}\n%s\n%s\n\n%s\ndone\n", r.Mask("abcdef123456"), r.Mask("hunter2"),
		r.Mask("-----BEGIN OPENSSH PRIVATE KEY-----"), r.Mask("b3BlbnNzaC1rZXktdjEAAAAA"), r.Mask("-----END OPENSSH PRIVATE KEY-----"))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestUserRules(t *testing.T) {
	r := newRedactor(t, Rules{
		Keys:     []string{"internal-id", "x*"},
		Patterns: []*regexp.Regexp{regexp.MustCompile(`CUST-\d+`), regexp.MustCompile(`name is (\w+)`)},
		Pointers: []string{"/params/arguments/pin", "/result/content/*/n", "/params/arguments/list/1"},
		Values:   []string{"p@ss word/1"},
	})
	for in, want := range map[string]string{
		`{"internalId":[1,"a",{"b":true}],"xyz":"q"}`:        `{"internalId":["%1%","%a%",{"b":"%true%"}],"xyz":"%q%"}`,
		`{"text":"{\"internal_id\":\"a\"} internal_id: b"}`:  `{"text":"{\"internal_id\":\"%a%\"} internal_id: %b%"}`,
		`{"a":"for CUST-123, CUST-\u0034"}`:                  `{"a":"for %CUST-123%, %CUST-4%"}`,
		`{"a":"my name is Bob."}`:                            `{"a":"my name is %Bob%."}`,
		`{"params":{"arguments":{"pin":1,"pan":1}}}`:         `{"params":{"arguments":{"pin":"%1%","pan":1}}}`,
		`{"params":{"arguments":{"list":["a","b","c"]}}}`:    `{"params":{"arguments":{"list":["a","%b%","c"]}}}`,
		`{"result":{"content":[{"n":"a"},{"n":"b","m":1}]}}`: `{"result":{"content":[{"n":"%a%"},{"n":"%b%","m":1}]}}`,
		`{"a":"p@ss word/1 p%40ss+word%2F1 p@ss word\/1"}`:   `{"a":"%p@ss word/1% %p@ss word/1% %p@ss word/1%"}`,
	} {
		want = regexp.MustCompile(`%[^%]*%`).ReplaceAllStringFunc(want, func(s string) string { return r.Mask(strings.Trim(s, "%")) })
		if got, _ := r.Frame([]byte(in)); string(got) != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
}

// A value is judged by its beginning, and taken whole.
func TestLongValue(t *testing.T) {
	r := newRedactor(t, Rules{})
	for _, size := range []int{nearby - 1, nearby, nearby + 1, 5 * nearby} {
		v := strings.Repeat("a1B2c3D4", size/8+1)[:size]
		for in, secret := range map[string]string{"token=" + v + " x": v, "sk-" + v + ", x": "sk-" + v, "| token | " + v + " |": v,
			"Cookie: a=" + v: "a=" + v, "mysql -p" + v + " -u me": v} {
			want := strings.ReplaceAll(in, secret, r.Mask(secret))
			if got, _ := r.Frame([]byte(`{"x":"` + in + `"}`)); string(got) != `{"x":"`+want+`"}` {
				t.Errorf("%.40s… of %d became %.300s", in, size, got)
			}
		}
	}
}

// A secret of any length is found with bounded memory.
func TestLong(t *testing.T) {
	r := newRedactor(t, Rules{Keys: []string{"blob"}})
	for name, c := range map[string]struct{ head, body, tail, want string }{
		"a key":   {`{"blob":"`, strings.Repeat("abc\\n\\u0041", 40_000), `","x":1}`, `{"blob":"[redacted:`},
		"a run":   {`{"x":"eyJhbGciOiJ`, strings.Repeat("abc.", 40_000), `","x":1}`, `{"x":"[redacted:`},
		"a line":  {`oops eyJhbGciOiJ`, strings.Repeat("abc.", 40_000), ``, `oops [redacted:`},
		"a value": {`{"x":"token=`, strings.Repeat("a1B2c3D4", 20_000), `","x":1}`, `{"x":"[redacted:`},
		"a shape": {`{"x":"ghp_`, strings.Repeat("a1B2c3D4", 20_000), `","x":1}`, `{"x":"[redacted:`},
		"cookies": {`{"x":"Cookie: `, strings.Repeat("a=b; ", 30_000), `","x":1}`, `{"x":"[redacted:`},
		"no":      {`{"x":"`, strings.Repeat("abc ", 40_000), `","x":1}`, `{"x":"abc `},
		"a block": {`{"x":"-----BEGIN PRIVATE KEY-----\n`, strings.Repeat("abc/", 40_000), `","x":1}`, `{"x":"[redacted:`},
	} {
		in := c.head + c.body + c.tail
		s, got := r.Stream(false), ""
		for from := 0; from < len(in); from += 5000 {
			b, _ := s.Next([]byte(in[from:min(len(in), from+5000)]), from+5000 < len(in))
			got += string(b)
			if s.Held() > holdLimit+5000 {
				t.Fatalf("%s: holds %d", name, s.Held())
			}
		}
		if !strings.HasPrefix(got, c.want) || !strings.HasSuffix(got, c.tail) || len(got) > 100 && name != "no" {
			t.Errorf("%s: became %.200s", name, got)
		}
		if in[0] == '{' && !json.Valid([]byte(got)) {
			t.Errorf("%s: not JSON", name)
		}
		if name == "no" && got != in {
			t.Errorf("%s: changed", name)
		}
	}
}

func TestCleanIsFree(t *testing.T) {
	r := newRedactor(t, Rules{})
	for _, in := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"params":{"_meta":{"progressToken":7},"arguments":{"q":"the keys of a keyboard: key"}}}`} {
		b := []byte(in)
		if n := testing.AllocsPerRun(100, func() {
			if got, _ := r.Frame(b); &got[0] != &b[0] {
				t.Fatal("another")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", in, n)
		}
	}
}
