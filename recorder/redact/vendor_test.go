package redact

import "testing"

// Keys that only the name of a vendor tells, or a word within a name.
var vendorFrames = []string{
	`{"a":"atlassian = \"«01pemn3rxbhmcmvswipxdc34»\"; netlify api: «k8a9qb8p8e6tf5bk758x4rbs2ucxnrt»\nGOCARDLESS=«live_n4b8_rtwlm_xdmy06gx9»","b":"KRAKEN_ACCESS_ID=«d9f1de19-9717-57f6-f98d-5942d641af79»"}`,
	`{"a":"atlassian: https://x.example/a1b2c3d4e5f6; facebook = 2026-01-02T03:04:05; netlify_site_id: 01pemn3rxbhmcmvswipxdc34; kraken: release-candidate-2024","b":"netlify, 01pemn"}`,
	`{"token":"«w1»","linkedin":"«01pemn3rxbhmcmvswipxdc34»","heroku":"12345678-abcd-abcd-abcd-1234567890ab","sentry_event_id":"01pemn3rxbhmcmvswipxdc34","snyk_key":"«12345678-abcd-abcd-abcd-1234567890ab»","jira_key":"ABC-123"}`,
	`{"a":"SECRET_KEY_BASE=«a3f1e9c07b5d2486a3f1e9c07b5d2486»\nSECRET_VERSION=a3f1e9c07b5d2486a3f1e9c07b5d2486\nsecret_santa = monday"}`,
}

// Keys of parts, and what has them in a line or a block.
var partFrames = []string{
	`{"a":"use «pat.1fm5nitzkfla9bwkvjfswh.9iort6xmf0fqmn1w4e11nfmr.8qefxhl7zw5rhwo8hwd5», not pat.1fm5.9ior.8qef","b":"«sat.1fm5nitzkfla9bwkvjfswh.9iort6xmf0fqmn1w4e11nfmr.8qefxhl7zw5rhwo8hwd5»"}`,
	`{"a":"https://a.webhook.office.com/webhookb2/«06fd0a11-1111-2222-3333-444455556666@06fd0a11-1111-2222-3333-444455556666/IncomingWebhook/a1b2»","b":"webhookb2/x"}`,
	`{"a":"Digest username=\"u\", nonce=\"x\", response=\"«0123456789abcdef0123456789abcdef»\", x","b":"response=\"0123\"; response=x"}`,
	`{"a":"curl https://x \\\n  -X POST \\\n  --user u:«w1x2y3» -d a; curl --user u:'«w1x2y3»' x; curl -u \":«w1x2y3»\" x"}`,
	`{"a":"apiVersion: v1\nkind: Secret\ndata:\n  # of: it\n  a.b: «eHh4»\n  c: |\n    «d\n    e»\n  f: \"«eXl5»\"\nmetadata:\n  name: x","b":"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: eHh4\n  b: secret"}`,
	`{"a":"{\n \"apiVersion\": \"v1\", \"data\": {\"a.b\": \"«eHh4»\", \"c\": \"«eXl5»\"}, \"kind\": \"Secret\", \"metadata\": {\"name\": \"x\"}}","b":"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"data\":{\"a\":\"secret\"}}"}`,
}

var partTails = []string{
	`{"a":"sqlplus u/«w1x2y3»@//db.example:1521/x","b":"https://x/@//y a/${X}@//b","c":"«ey1fQ2uwHepacTyRib4Ab.eyQbLwjzpPQJlgiBdAb2x.Zm9vYmFyYmF6cXV4»"}`,
}

func TestKeys(t *testing.T) {
	for text, want := range map[string]bool{
		"01pemn3rxbhmcmvswipxdc34": true, "su6DETtYdFQJod": true, "12345678-abcd-abcd-abcd-1234567890ab": true,
		"178899990393251-MNzCBH0ORYkjNOgSi6tt": true, "cafebabe:deadbeef": true, "04650240:A9ppru5klzu6aj7x0y1z": true,
		"a-release-of-2024-01-02": false, "monday-tuesday-wednesday": false, "2026-01-02T03:04:05": false, "app.example.com:8080": false,
		"4400274907104455": false, "short1a2b": false, "https://x.example/a1b2c3d4e5f6": false, "claude-3-5-sonnet-20241022": false, "": false,
	} {
		if got := isKey([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
