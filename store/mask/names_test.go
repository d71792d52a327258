package mask

import (
	"slices"
	"strings"
	"testing"
)

// TestNames: how secret a name makes its value.
func TestNames(t *testing.T) {
	for want, names := range map[level]string{
		harmless: `name sha256 secret_sha1 key key1 keys key_count tokens_used maxTokens next_page_token public_key primaryKey pass by_pass bypass PWD OLDPWD
			sessionId session_id map_pin shipping_pin tokenType token_url secret_name passwordFile okta_id okta_url okta_client_url access_id client_id address access 2 - é`,
		ifKey:      `okta oktaThing jiraKey okta_client_id okta_access_id secretThing thing_secret_thing passwordHint credentialStore credentials_of`,
		ifRandom:   `auth someKey maxKey sort_of_key SSLPat bearer`,
		ifDigits:   `pin PIN ssn creditCard card_number`,
		ifString:   `tokens accessTokens`,
		credential: `token apiKey APIKey api_keys API-KEY sessionid JSESSIONID mcpSessionId dsn sentryDSN DSNValue DSN_2 dbPass db_pass cookie recovery_code connection.string connectionString`,
		password:   `password PASSWORD password2 password_2 password_value my-passphrase contraseña motDePasse clientSecret secrets dbpassword`,
	} {
		for _, name := range strings.Fields(names) {
			if got := readRules().levelOf(name); got != want {
				t.Errorf("%s: level %d, want %d", name, got, want)
			}
		}
	}
}

// TestHides: what of a value a level hides.
func TestHides(t *testing.T) {
	for _, c := range []struct {
		level       level
		value, want string
	}{
		{harmless, "a1b2c3d4e5f6a7b8", ""},
		{ifKey, "a1b2c3d4e5f6", "a1b2c3d4e5f6"},
		{ifKey, "a1b2c3d4e5f", ""},
		{ifRandom, "a1b2c3d4e5f6", ""},
		{ifRandom, "a1b2c3d4e5f6a7b8", "a1b2c3d4e5f6a7b8"},
		{ifRandom, "0191c0de-0000-7000-8000-000000000000", ""},
		{ifRandom, "Bearer abcd-efg1", "abcd-efg1"},
		{ifRandom, "Bearer abc-ef1", ""},
		{ifRandom, "Bearer abcdefgh", "abcdefgh"},
		{ifDigits, "1234", "1234"},
		{ifDigits, "12-34", "12-34"},
		{ifDigits, "123", ""},
		{ifDigits, "1234a", ""},
		{ifString, "word", ""},
		{ifString, "word1", "word1"},
		{credential, "word", ""},
		{credential, "Bearer word", "word"},
		{credential, "Bearer ", ""},
		{credential, "word word", "word word"},
		{credential, "${TOKEN}", ""},
		{password, "word", "word"},
		{password, "none", ""},
		{password, "Basic none", ""},
		{everything, "none", "none"},
		{everything, "Basic none", "Basic none"},
		{everything, "", ""},
	} {
		from, to, ok := c.level.hides(readRules(), []byte(c.value))
		if got := c.value[from:to]; ok != (c.want != "") || ok && got != c.want {
			t.Errorf("level %d of %q: %q, %v, want %q", c.level, c.value, got, ok, c.want)
		}
	}
}

func TestEnvValues(t *testing.T) {
	environ := []string{"PATH=/usr/bin:/bin", "API_KEY=a1b2c3d4", "API_TOKEN=a1b2c3d", "DB_PASSWORD=correcthorse", "DB2_PASSWORD=horsehorse2", "OTHER_PASSWORD=horsehorse",
		"KEY_PASSWORD=/path/to/key1", "GREETING=hello", "EMPTY_PASSWORD=", "NAME", "COLOUR=a1b2c3d4e5"}
	if got, want := EnvValues(environ, []string{"GREETING"}), []string{"a1b2c3d4", "correcthorse", "horsehorse2", "hello"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShapesOfValues: what is taken for a word, a key that a program made, or letters without order.
func TestShapesOfValues(t *testing.T) {
	generated := func(v []byte) bool { return looksGenerated(v, 10) }
	accepts := func(name string) func([]byte) bool {
		return func(v []byte) bool { return accepting[name](readRules(), string(v)) }
	}
	for name, c := range map[string]struct {
		is      func([]byte) bool
		yes, no []string
	}{
		"word": {isWord,
			[]string{"word", "two-words", "zebra-za", strings.Repeat("abcdef", 4)},
			[]string{"", "----", "two words", "Word", "word1", "ab{", "`ab", "bcdfghjklm", strings.Repeat("abcde", 5)}},
		"generated": {generated,
			[]string{"a1b2c3d4e5", "a1b2c3d4-x", "abcdefg1h2ijk", "abcdef:fedcba", "abc123:a1b2c3d4e5f6", "bcdfghjklm", strings.Repeat("a1b2", 100)},
			[]string{"a1b2c3d4e", strings.Repeat("a1b2", 100) + "a", "/a1b2c3d4e5f6", ".a1b2c3d4e5f6", "a1b2c3d4e5f6 x", "12:a1b2c3d4e5f6", ":a1b2c3d4e5f6",
				"abcde:fedcb", "abcdef:fedcbg", "abcdef:fedcbaa", "abcxyz:a1b2c3d4e5f6", "a1b2c3d-e4f5g6h", "1234567a890", "abcdefg1hijk", "configuration"}},
		"tossed": {isTossed,
			[]string{"bcdfghjklm", "bcdfghjk-lmn", "aAEiuoABeiO", "oeAZeiEZuao", "abcdfghjkl", "bcdfghjk123"},
			[]string{"bcdfghjkl", "bcdf-ghj-klm", "AaBbCcDdEe", "AEioauioeu", "abcdefghjk", "bcdfg12345", "bcdfghjk1234", "getUserAuthenticationToken", "configuration"}},
		"mixed":       {accepts("mixed"), []string{"a1", "1Z"}, []string{"a", "1", "-", ""}},
		"luhn":        {accepts("luhn"), []string{"4242 4242 4242 4242", "4242424242424242", "5555-5555-5555-4444", "9"[:0]}, []string{"4242424242424241", "4242424242424224"}},
		"basic":       {accepts("basic"), []string{"dXNlcjpwYXNz", "dXNlcjpwYXNzd29yZA==", "YTpi"}, []string{"dXNlcg==", "dXNlcgpwOmE=", "!!!", "YTo=", "dXNlcjpwYXNz!"}},
		"no-template": {accepts("no-template"), []string{"a1b2"}, []string{"${A}", "$A", "{{a}}"}},
	} {
		for _, v := range c.yes {
			if !c.is([]byte(v)) {
				t.Errorf("%s: %q is none", name, v)
			}
		}
		for _, v := range c.no {
			if c.is([]byte(v)) {
				t.Errorf("%s: %q is one", name, v)
			}
		}
	}
	if lower, upper, digits := makeup([]byte("az`{AZ@[09/:")); lower != 2 || upper != 2 || digits != 2 {
		t.Errorf("%d, %d and %d", lower, upper, digits)
	}
}
