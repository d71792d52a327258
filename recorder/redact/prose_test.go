package redact

// Names that only together, or only alone, say what they are of, and values of letters.
var proseFrames = []string{
	`{"a":{"pin":"«1234»","ssn":"«123-45-6789»","pw":"«w1»","dsn":"«w1y2»","connectionString":"«Server=a»","SENTRY_DSN":"«https://h»"}}`,
	`{"a":{"seed_phrase":"«a b c»","recoveryPhrase":"«a b c»","webhook_url":"«https://h/x»","SLACK_WEBHOOK_URL":"«https://h/x»"}}`,
	`{"a":{"pin":13,"pins":"1234","pin_count":1234,"connection":"x","pinned":"1234","string":"x","phrase":"a b"},"b":{"pin":"A0"},"c":{"private_key_id":"x"}}`,
	`{"a":"{\"pin\":\"«1234»\",\"pw\":\"«w1»\",\"pinned\":\"1234\"}","b":"PG_DSN=«a1b2c3d4»"}`,
	`{"a":"password: «xkqwzvbtr» and","b":"password: «sesame»","c":"password: «sesame»\nx","d":"cmd --client-secret «qWrTxPlKmN» -v"}`,
	`{"a":"//reg/:_authToken=«AbrTxPlKmNqz»","b":"_auth=«dXNlcjpwYXNz»","c":"client_secret: «myScrtXyzwQ»"}`,
	`{"a":"password: required","b":"password: string","c":"token: string","d":"password: hashedPassword","e":"Wrong password: try again"}`,
	`{"a":"secret: kubernetes","b":"cmd --password string  the password","c":"password: expired","d":"password: String\n","e":"password: SecretStr = x"}`,
	`{"a":"api_key = getApiKeyFromVault","b":"use --client-secret to log in","c":"--password Enter","d":"the secret: authentication","e":"password: hash,"}`,
}
