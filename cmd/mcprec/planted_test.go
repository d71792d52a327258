package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/transport"
)

// planted is a secret: one that shows by its own shape, or by the name in front of it.
type planted struct{ name, value string }

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	hexes   = "0123456789abcdef"
	uppers  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// shapesPlanted are prefixes of vendors' keys with what follows and how long that is;
// what follows always has digits.
var shapesPlanted = strings.Fields(`AKIA:U16 ASIA:U16 AIza:L35 GOCSPX-:L28 ya29.:L60 ghp_:L36 gho_:L36 ghu_:L36 ghs_:L36 ghr_:L36
	github_pat_:L82 glpat-:L20 gldt-:L20 glrt-:L20 glptt-:H40 xoxb-:L40 xoxp-:L60 xoxa-:L40 xoxr-:L40 xoxs-:L40 xapp-:L60
	sk-ant-api03-:L93 sk-ant-admin01-:L93 sk-proj-:L48 sk-svcacct-:L48 sk-or-v1-:H64 sk-:L48 lsv2_pt_:H32 sk_live_:L24 sk_test_:L24
	rk_live_:L24 whsec_:L32 npm_:L36 pypi-AgEIcHlwaS5vcmc:L70 rubygems_:H48 dckr_pat_:L27 AKCp:L69 SG.:L66 SK:H32 key-:H32 xkeysib-:H64
	hf_:L34 r8_:L37 gsk_:L52 xai-:L80 pplx-:L48 tvly-:L32 pcsk_:L60 fc-:H32 nvapi-:L64 csk-:L48 dop_v1_:H64 doo_v1_:H64 dor_v1_:H64
	dapi:H32 shpat_:H32 shpca_:H32 shppa_:H32 shpss_:H32 sq0atp-:L22 sq0csp-:L43 EAACEdEose0cBA:L120 FLWSECK_TEST-:H32 rzp_live_:L14
	ATATT3xFfGF0:L180 ATBB:L32 lin_api_:L40 ntn_:L46 figd_:L40 PMAK-:L59 tfp_:L59 glc_:L60 glsa_:L41 NRAK-:U27 dt0c01.:L88
	sntryu_:H64 phx_:L43 HRKU-:L36 fo1_:L43 fm2_:L80 nfp_:L40 vcp_:L56 vercel_blob_rw_:L40 sbp_:H40 sb_secret_:L31 pscale_tkn_:L43
	pscale_pw_:L43 hvs.:L95 hvb.:L95 pul-:H40 dp.pt.:L43 AGE-SECRET-KEY-1:U58 tskey-auth-:L40 CCIPAT_:L60 squ_:H40 sqp_:H40 sgp_:H40
	rdme_:H70 LTAI:L20 p8e-:L32 EZAK:L54 pnu_:L36 shippo_live_:H40 CFPAT-:L43 e2b_:H40 bkua_:H40 glsoat-:L20 gloas-:H64 glagent-:L50
	glimt-:L25 GR1348941:L20 xoxe-1-:L140 access-sandbox-:H8-4 duffel_live_:L43 lin_oauth_:H64 abc8Q~:L34 clojars_-:DeliveryOrder`)

var namesPlanted = strings.Fields(`password passwd passphrase passcode pwd user_password dbPassword DB_PASSWORD secret client_secret clientSecret
	CLIENT-SECRET app_secret token access_token accessToken refresh_token refreshToken id_token auth_token authToken bot_token sessionToken
	csrf_token webhook_secret api_key apiKey apikey API_KEY x-api-key X-Api-Key OPENAI_API_KEY stripeKey2Secret private_key privateKey secret_key
	secretKey aws_secret_access_key secretAccessKey access_key accessKey signing_key encryption_key encryptionKey master_key account_key
	accountKey shared_key subscription_key admin_key deploy_key license_key consumer_key consumer_secret authorization Authorization
	proxy-authorization cookie Set-Cookie jwt credential smtp_pass mnemonic npm_token GITHUB_TOKEN SLACK_BOT_TOKEN vault_token
	personal_access_token personalAccessToken bearer_token bearerToken oauth_token api_token apiToken service_key hmac_key jwt_secret
	totp_secret encryption_password keystore_password ssh_passphrase refresh_secret JSESSIONID root_password admin_password storage_key`)

// secretsPlanted are two hundred, always the same; outside of a night every tenth of them.
func secretsPlanted(t *testing.T) (list []planted) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(8, 8))
	draw := func(set string, n int) string {
		b := []byte{'7', '4'} // digits there are always
		for len(b) < n {
			b = append(b, set[rnd.IntN(len(set))])
		}
		return string(b[:n])
	}
	for _, s := range shapesPlanted {
		i := strings.LastIndexByte(s, ':')
		n := 0
		if _, err := fmt.Sscanf(s[i+2:], "%d", &n); err != nil || n < 10 {
			continue
		}
		set := map[byte]string{'U': uppers, 'L': letters, 'H': hexes}[s[i+1]]
		list = append(list, planted{value: s[:i] + draw(set, n)})
	}
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, alg := range []string{"HS256", "RS256", "ES256"} {
		list = append(list, planted{value: part(`{"alg":"`+alg+`","typ":"JWT"}`) + "." + part(`{"sub":"`+draw(letters, 12)+`"}`) + "." + draw(letters, 43)})
	}
	for _, kind := range []string{"RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "} {
		list = append(list, planted{value: "-----BEGIN " + kind + "PRIVATE KEY-----\n" + draw(letters, 64) + "\n" + draw(letters, 64) + "\n-----END " + kind + "PRIVATE KEY-----"})
	}
	for _, name := range namesPlanted {
		list = append(list, planted{name, draw(letters, 18)})
	}
	if len(list) < 200 || len(positions) != 24 {
		t.Fatalf("%d secrets in %d positions", len(list), len(positions))
	}
	some := list[:0]
	for i := 0; i < len(list); i += soak(10, 1) {
		some = append(some, list[i])
	}
	return some
}

// positions are the places of a secret: in a frame, or in text if it is no JSON. {K} is a
// name as text, {V} the secret as it stands in a JSON string, {VV} in JSON in a string.
var positions = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"{G}"},"arguments":{"{K}":"{V}"}}}`,
	`{"jsonrpc":"2.0","id":"{G}","result":{"content":[{"type":"text","text":"ok"}],"structuredContent":{"{K}":"{V}"}}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":1,\"{K}\":\"{VV}\"}"}]}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\n  \"{K}\" : \"{VV}\",\n  \"b\": [1]\n}"}]}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"a":"{\"b\":\"{\\\"{K}\\\":\\\"{VVV}\\\"}\"}"}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"denied: {K}={V}"}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"denied","data":{"request":{"{K}":"{V}"}}}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"using {K}: \"{V2}\" now"}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"x":[{"{K}":"{V}"}]}}}`,
	`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"{K}":"{V}"}}}]`,
	`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"file:///env","text":"A=1\n{K}='{V2}'\nB=2"}]}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":"curl -H '{K}: {V}' x"}}]}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"requestState":"{\"{K}\":\"{VV}\"}"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","result":{"action":"accept","content":{"{K}":"{V}"}}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"x":[["y",{"{K}": "{V}" , "z" : null}]]}}`,
	`{"id":1,"pad":"{P}","result":{"{K}":"{V}","more":"{P}"}}`,
	`{"id":1,"pad":"{P}{P}{P}{P} {K}=\"{V2}\" {P}"}`,
	`{"id":1,"result":{"text":"a line\n{V}\nnext\t{V}"}}`,
	`{"id":1,"result":{"text":"\u003c{V}\u003e"}}`,
	`{"id":1,"result":{"text":"{\"b\":\"\\n{VV}\\n\"}"}}`,
	`[INFO] {K}="{T}" in a line that only begins like JSON`,
	`2026-01-01 INFO {K}="{T}" in a line that is no JSON`,
	`stderr:2026-01-01 {"level":"debug","{K}":"{V}"}`,
	`stderr:config {K}='{T}' loaded`,
}

// plant puts a secret into a position; guard is a value of the protocol's that looks
// like one.
func plant(position string, p planted, guard string) string {
	name := p.name
	if name == "" {
		name = "note"
	}
	quoted := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	}
	v := quoted(p.value)
	if strings.Contains(position, "{T}") {
		v = p.value
	}
	return strings.NewReplacer("{K}", name, "{VVV}", quoted(quoted(v)), "{VV}", quoted(v), "{V2}", v, "{V}", v,
		"{T}", strings.ReplaceAll(p.value, "\n", " "), "{G}", guard, "{P}", strings.Repeat("a page of a text, ", 2000)).Replace(position)
}

// TestPlantedSecrets: of the planted secrets in two dozen positions none leaves the store,
// however the reads cut them, and no field of the protocol is changed.
func TestPlantedSecrets(t *testing.T) {
	t.Parallel()
	list := secretsPlanted(t)
	const guard = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{Sync: boltstore.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := recorder.New(context.Background(), db, store.Header{Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 8))
	taps := map[bool]*recorder.Tap{false: rec.Tap(transport.ServerToClient), true: rec.StderrTap()}
	for i, p := range list {
		for k, position := range positions {
			if k == 16 && i%8 != 0 || p.name != "" && !strings.Contains(position, "{K}") {
				continue // a long one; one in which its name would have to tell
			}
			text, onStderr := strings.CutPrefix(plant(position, p, guard), "stderr:")
			observe(taps[onStderr], []byte(text+"\n"), rnd)
		}
	}
	observeEnd(rec, taps)
	var log []byte
	d, err := (&session.Home{}).Masker(db)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range d.Events(db.Read(context.Background(), rec.ID(), 1, store.ReadOptions{})) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == store.Frame && e.Payload[0] != '2' && !bytes.HasPrefix(e.Payload, []byte("[INFO")) && !json.Valid(e.Payload) {
			t.Errorf("event %d is not JSON: %.300s", e.Seq, e.Payload)
		}
		log = append(append(log, e.Payload...), '\n')
	}
	if n := bytes.Count(log, []byte(guard)); n != 2*len(list) {
		t.Errorf("%d values of the protocol are left of %d", n, 2*len(list))
	}
	for _, p := range list {
		leaks(t, "the log", log, p)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// observe gives a line to a tap in up to three reads.
func observe(tap *recorder.Tap, line []byte, rnd *rand.Rand) {
	for range rnd.IntN(3) {
		n := rnd.IntN(len(line))
		tap.Observe(line[:n])
		line = line[n:]
	}
	tap.Observe(line)
}

func observeEnd(rec *recorder.Recorder, taps map[bool]*recorder.Tap) {
	for _, tap := range taps {
		tap.End(store.EOFInfo{By: "sender"})
	}
	rec.Close()
}

// leaks looks for a secret, or most of one.
func leaks(t *testing.T, where string, b []byte, p planted) {
	t.Helper()
	for _, line := range strings.Split(p.value, "\n") {
		if strings.Contains(line, "-----") {
			continue
		}
		if i := bytes.Index(b, []byte(line[len(line)/3:])); i >= 0 {
			t.Errorf("%s has of %s %s: %q", where, p.name, p.value, b[max(0, i-80):min(len(b), i+80)])
			return
		}
	}
}
