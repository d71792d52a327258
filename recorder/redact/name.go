package redact

import "bytes"

// secrecy says what a name promises of its value.
type secrecy uint8

const (
	noSecret     secrecy = iota
	randomSecret         // a string of random letters and digits is one
	looseSecret          // a string that looks random is one
	digitSecret          // four digits or more are one
	stringSecret         // a string is one
	textSecret           // so is a number, if it is long
	hardSecret           // numbers are, too
	treeSecret           // all strings below are
	wholeSecret          // everything below is: the user says so
)

// words cuts a name at its separators and where its case says so, in lower case, at
// most the last eight.
type words struct {
	buf  [96]byte
	from [9]uint8
	n    int
}

func (w *words) cut(name []byte) {
	name = name[max(0, len(name)-len(w.buf)):]
	n, open := 0, false
	for i, c := range name {
		up := c >= 'A' && c <= 'Z'
		switch {
		case !alnum[c]:
			open = false
			continue
		case !open, up && i > 0 && !(name[i-1] >= 'A' && name[i-1] <= 'Z'),
			up && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' && i > 0 && alnum[name[i-1]] && !(i+2 == len(name) && name[i+1] == 's'):
			if w.n == 8 {
				copy(w.from[:], w.from[1:8])
				w.n--
			}
			w.from[w.n] = uint8(n)
			w.n++
			open = true
		}
		if up {
			c += 'a' - 'A'
		}
		w.buf[n] = c
		n++
	}
	w.from[w.n] = uint8(n)
}

func (w *words) at(i int) []byte {
	if i < 0 || i >= w.n {
		return nil
	}
	return w.buf[w.from[i]:w.from[i+1]]
}

// joined returns the last words, as one.
func (w *words) joined(n int) []byte { return w.buf[w.from[max(0, w.n-n)]:w.from[w.n]] }

// phraseSecrecy are last words that say it together.
var phraseSecrecy = map[string]secrecy{
	"connectionstring": textSecret, "connectionstr": textSecret, "connstr": textSecret, "connstring": textSecret, "seedphrase": textSecret,
	"recoveryphrase": textSecret, "mnemonicphrase": textSecret, "backupphrase": textSecret, "webhookurl": textSecret,
}

// valueWords stand behind a name without changing what it is of.
var valueWords = setOf("value raw b64 base64 hex plaintext str string literal header env var")

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range bytes.Fields([]byte(list)) {
		set[string(w)] = true
	}
	return set
}

// trim drops the words behind a name that say only of what form its value is.
func (w *words) trim() {
	for w.n > 1 {
		last := w.at(w.n - 1)
		_, _, digits := makeup(last)
		if digits < len(last) && !valueWords[string(last)] {
			return
		}
		w.n--
	}
}

// secrecyOf classifies a name.
func secrecyOf(name []byte) secrecy {
	var w words
	w.cut(name)
	switch string(w.at(w.n - 1)) {
	case "string", "str", "phrase", "url":
		if s, ok := phraseSecrecy[string(w.joined(2))]; ok {
			return s
		}
	}
	w.trim()
	if w.n == 0 {
		return noSecret
	}
	if name := w.at(0); w.n == 1 && (string(name) == "pin" || string(name) == "ssn") { // of other words it is another
		return digitSecret
	}
	last, before := w.at(w.n-1), w.at(w.n-2)
	single, plural := bytes.CutSuffix(last, []byte("s"))
	if plural && (bytes.HasSuffix(single, []byte("s")) || string(last) == "pass" || string(last) == "keys" && before == nil) {
		single, plural = last, false
	}
	if s, ok := wordSecrecy[string(single)]; ok {
		return s
	}
	switch {
	case bytes.HasSuffix(single, []byte("token")):
		return tokenSecrecy(single[:len(single)-5], before, plural)
	case bytes.HasSuffix(single, []byte("key")):
		return keySecrecy(single[:len(single)-3], before)
	case string(last) == "pass" && before != nil && !passWords[string(before)]:
		return textSecret
	}
	for _, suffix := range hardSuffixes {
		if bytes.HasSuffix(single, suffix) {
			return hardSecret
		}
	}
	return w.randomSecrecy()
}

// wordSecrecy are last words that say it by themselves.
var wordSecrecy = map[string]secrecy{
	"password": hardSecret, "passwd": hardSecret, "passphrase": hardSecret, "passcode": hardSecret, "pwd": hardSecret,
	"secret": hardSecret, "otp": hardSecret, "totp": hardSecret, "cvv": hardSecret, "cvc": hardSecret,
	"authorization": textSecret, "authorisation": textSecret, "cookie": textSecret, "jwt": textSecret, "pw": textSecret,
	"credential": treeSecret, "cred": treeSecret, "mnemonic": textSecret, "dsn": textSecret,
	"connstr": textSecret, "connstring": textSecret, "seedphrase": textSecret, "webhookurl": textSecret, "auth": looseSecret, "bearer": looseSecret,
	"pat": looseSecret, "jsessionid": looseSecret, "phpsessid": looseSecret,
}

var hardSuffixes = [][]byte{[]byte("password"), []byte("passwd"), []byte("passphrase"), []byte("secret")}

var passWords = setOf("by low high first second third one two multi single all did will compiler test tests render boarding band")

// tokenWords stand before a token that is none of anybody's credentials: of a
// protocol, a page, a language, a count.
var tokenWords = setOf(`progress next page nextpage continuation continue cont sync nextsync cancellation cancel
	max min start end begin stop bos eos pad unk mask sep cls special total prompt completion input output cached
	reasoning first last per resume resumption prev previous pagination scroll cursor skip language separator
	delimiter num n count used remaining new current string keyword identifier punctuation semantic syntax lex
	design color comment partial change delta watch list`)

func tokenSecrecy(joined, before []byte, plural bool) secrecy {
	if len(joined) > 0 {
		before = joined
	}
	switch {
	case tokenWords[string(before)]:
		return noSecret
	case plural: // a number is a count
		return stringSecret
	}
	return textSecret
}

// keyWords stand before a key that opens something.
var keyWords = setOf(`api secret private priv access auth authentication authorization signing signature encryption encrypt
	decryption decrypt master account shared subscription service client server admin app application deploy deployment
	ssh gpg pgp aes rsa hmac jwt license licence storage consumer webhook openai anthropic claude azure aws gcp google
	gemini groq mistral cohere tavily brave exa serper serpapi firecrawl pinecone airtable sendgrid mailgun mailchimp
	algolia datadog dd newrelic stripe twilio github gitlab slack supabase perplexity elevenlabs replicate huggingface hf
	deepseek openrouter`)

// openWords stand before a key that anybody may see.
var openWords = setOf(`public pub primary foreign sort partition cache object row group unique hash range natural surrogate
	composite translation i18n l10n locale message shortcut hot arrow modifier idempotency dedup deduplication routing
	json map dict lookup index parent child config setting settings property issue project space widget react feature flag
	event order column field file path prefix search query context state input output meta metadata data tag
	label type any each per every by the a an this that no one same answer on registry trace page next`)

func keySecrecy(joined, before []byte) secrecy {
	if len(joined) > 0 {
		before = joined
	}
	switch {
	case before == nil || openWords[string(before)]:
		return noSecret
	case keyWords[string(before)]:
		return textSecret
	case vendors[string(before)]:
		return randomSecret
	}
	return looseSecret
}

// plainName is a name without what does not matter when users name keys.
func plainName(name string) string {
	b := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			b = append(b, c+'a'-'A')
		case c != '-' && c != '_' && c != '.' && c != ' ':
			b = append(b, c)
		}
	}
	return string(b)
}

// secrecyOf classifies a name by the user's keys as well.
func (r *Redactor) secrecyOf(name []byte) secrecy {
	if len(r.globs) > 0 {
		p := plainName(string(name))
		for _, g := range r.globs {
			if globMatch(g, p) {
				return wholeSecret
			}
		}
	}
	return secrecyOf(name)
}

// globMatch reports whether name is what pattern says, in which '*' is anything.
func globMatch(pattern, name string) bool {
	star, mark, i, j := -1, 0, 0, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == name[j]:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}
