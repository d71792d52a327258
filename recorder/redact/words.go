package redact

import "bytes"

// usage says which word of a command line is a password.
type usage struct {
	option  string // what stands in front of it
	joined  bool   // it may stand in one word with that
	only    bool   // and must
	divider byte   // it stands behind this in its word; 0: all of it
	operand int    // or it is this operand; 0: none
	needs   byte   // if an option with this letter was there
	random  bool   // and if it is no plain word
}

// ofMySQL is of its programs: what stands behind the option is the database.
var ofMySQL = usage{option: "-p", joined: true, only: true}

// ofVault is of "vault login".
var ofVault = usage{operand: 1, random: true}

// usages are commands that take passwords by an option whose name does not say so.
var usages = map[string]usage{
	"mysql": ofMySQL, "mysqldump": ofMySQL, "mysqladmin": ofMySQL,
	"mariadb": ofMySQL, "login": {option: "-p"}, "redis-cli": {option: "-a"}, "sshpass": {option: "-p", joined: true},
	"ldapsearch": {option: "-w"}, "ldapadd": {option: "-w"}, "ldapmodify": {option: "-w"}, "ldapdelete": {option: "-w"},
	"ldapwhoami": {option: "-w"}, "ldappasswd": {option: "-w"}, "htpasswd": {operand: 3, needs: 'b'},
	"smbclient": {option: "-U", divider: '%'}, "curl": {option: "-u", divider: ':'}, "mongosh": {option: "-p"}, "mongodump": {option: "-p"},
	"sqlcmd": {option: "-P"}, "mosquitto_pub": {option: "-P"}, "mosquitto_sub": {option: "-P"}, "twine": {option: "-p"},
}

// commandNames are the literals of the usages, but for those that have matchers of their
// own, or begin as another.
var commandNames = []string{"mysql", "mariadb", "login", "sshpass", "redis-cli", "ldap", "htpasswd", "smbclient", "mongosh", "mongodump", "sqlcmd", "mosquitto_", "twine"}

// commandLine is what was seen of a command line's words.
type commandLine struct {
	usage
	known   bool // a command was there that has a usage
	vault   bool // the word before
	expects bool // the word that comes is a password
	named   bool // by a name that says so
	needed  bool
	count   int // operands
}

// word takes the next word, and returns what of it is a password.
func (c *commandLine) word(w []byte) (from int, secret bool) {
	expects, named := c.expects, c.named
	c.expects, c.named = false, false
	option := len(w) > 1 && w[0] == '-'
	if expects && !(named && option) {
		return c.password(w, 0, named)
	}
	if u, ok := usages[commandName(w)]; ok && !option && (!c.known || commandName(w) == "login") {
		if c.vault && commandName(w) == "login" {
			u = ofVault
		}
		*c = commandLine{usage: u, known: true}
		return 0, false
	}
	c.vault = !option && commandName(w) == "vault"
	switch {
	case option && c.known && c.option != "" && !c.only && string(w) == c.option:
		c.expects = true
	case option && c.known && c.joined && len(w) > len(c.option) && w[1] != '-' && string(w[:len(c.option)]) == c.option:
		return c.password(w, len(c.option), false)
	case option:
		c.needed = c.needed || w[1] != '-' && bytes.IndexByte(w, c.needs) > 0
		if bytes.IndexByte(w, '=') < 0 && secrecyOf(w) >= textSecret {
			c.expects, c.named = true, true
		}
	case c.known && c.operand > 0 && (c.needs == 0 || c.needed):
		if c.count++; c.count == c.operand && bytes.IndexByte(w, '=') < 0 {
			return c.password(w, 0, false)
		}
	}
	return 0, false
}

// password returns what of a word is a password.
func (c *commandLine) password(w []byte, from int, named bool) (int, bool) {
	if c.divider != 0 && !named {
		n := bytes.IndexByte(w, c.divider)
		if n <= 0 {
			return 0, false
		}
		from = n + 1
	}
	v := w[from:]
	if _, _, digits := makeup(v); c.random && !named && digits == 0 && len(v) < 20 {
		return 0, false
	}
	if len(v) < 2 || isTemplate(v) || holdsMask(v) || v[0] == '$' || named && noValues[string(bytes.ToLower(v))] {
		return 0, false
	}
	return from, true
}

// commandName is a word without its path and what Windows has behind it, if it may be
// a command.
func commandName(w []byte) string {
	w = w[bytes.LastIndexByte(w, '/')+1:]
	return string(bytes.TrimSuffix(w[:min(len(w), 24)], []byte(".exe")))
}

// command looks for the password of a command line, from the command on.
func command(t *text, at int) verdict {
	end := at + word.near(t.b, at)
	u, ok := usages[string(t.b[at:end])]
	if end == len(t.b) && !t.final {
		return more
	}
	if !ok || t.goesOn(at, word) {
		return no
	}
	line := commandLine{usage: u, known: true}
	if string(t.b[at:end]) == "login" && (t.standsBefore(at, "vault ") || t.standsBefore(at, `vault","`) || t.raw && t.standsBefore(at, `\",\"`)) {
		line.usage = ofVault
	}
	if t.raw {
		return t.optionNear(line.usage, end)
	}
	return t.words(&line, end+quoteAt(t.b, end))
}

// standsBefore reports whether a text stands in front of a place.
func (t *text) standsBefore(at int, s string) bool {
	for k := range len(s) {
		if t.before(at-k) != s[len(s)-1-k] {
			return false
		}
	}
	return true
}

// commandReach is how far behind a command its password is looked for.
const commandReach = 256

// optionNear reports, of JSON as it came, whether an option may be near its command.
func (t *text) optionNear(u usage, end int) verdict {
	near := t.b[end:min(len(t.b), end+commandReach)]
	if u.option == "" || hasOption(near, u) {
		t.resume = end
		return hit
	}
	if len(near) < commandReach && !t.final {
		return more
	}
	return no
}

// hasOption reports whether an option stands there as a word, or begins one.
func hasOption(b []byte, u usage) bool {
	for i := 1; ; i++ {
		n := bytes.Index(b[min(i, len(b)):], []byte(u.option))
		if n < 0 {
			return false
		}
		i += n
		next := i + len(u.option)
		if (b[i-1] == ' ' || quoteMark[b[i-1]]) && (u.joined || next == len(b) || b[next] == ' ' || b[next] == '\\' || quoteMark[b[next]]) {
			return true
		}
	}
}

// words looks at the words of a command line.
func (t *text) words(line *commandLine, i int) verdict {
	for last := i + commandReach; i < last; {
		for i < len(t.b) && (t.b[i] == ' ' || t.b[i] == '\t' || t.b[i] == ',') {
			i++
		}
		if t.unclear(i) || i >= len(t.b) && !t.final {
			return more
		}
		from, to := i, i
		q := quoteAt(t.b, i)
		if from += q; q == 0 {
			to = from + plain.near(t.b, from)
		} else if to = closing(t.b, from, q); to < 0 {
			to = len(t.b)
		}
		if to == len(t.b) && !t.final {
			return more
		}
		if to == from && q == 0 {
			return no
		}
		if part, secret := line.word(t.b[from:to]); secret {
			if q == 0 {
				to = from + plain.all(t.b, from, to-from)
			}
			if to == len(t.b) && !t.final {
				return more
			}
			return t.found("command", from+part, to)
		}
		i = to + q
	}
	return no
}
