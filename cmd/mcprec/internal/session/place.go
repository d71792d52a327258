package session

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
)

// Home is where a command's store is, and how its secrets are masked.
type Home struct {
	Place   string // a folder, or the URL of a shared store; "" is $MCPREC_HOME, or else the state folder
	Secrets Secrets
}

// place returns where the store is, and makes nothing there.
func (h *Home) place() (place, error) {
	if h.Place != "" {
		return parsePlace(h.Place)
	}
	user, err := os.UserHomeDir()
	if text := defaultPlace(runtime.GOOS, os.Getenv, user); text != "" {
		return parsePlace(text)
	}
	return place{}, fmt.Errorf("find the store: %v; set MCPREC_HOME", err)
}

// IsShared reports whether the store is a shared one, and not in a folder.
func (h *Home) IsShared() (bool, error) {
	p, err := h.place()
	return err == nil && p.folder == "", err
}

// Absolute returns the place as another process is to be told it: a folder, or a file that a URL
// names, has its whole path. The credentials of a URL stand in it.
func (h *Home) Absolute() (string, error) {
	p, err := h.place()
	if err != nil {
		return "", err
	}
	if p.folder != "" {
		return filepath.Abs(p.folder)
	}
	for _, name := range []string{"ca", "creds"} {
		if path := p.query.Get(name); path != "" {
			whole, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			p.query.Set(name, whole)
		}
	}
	return p.whole(), nil
}

// UsualFolder returns the store's folder where neither a flag nor a variable of the user's own names
// another, or "".
func UsualFolder() string {
	user, _ := os.UserHomeDir() // else it is empty
	return defaultPlace(runtime.GOOS, without(os.Getenv, "MCPREC_HOME", "XDG_STATE_HOME"), user)
}

// StateFolder returns the folder for what belongs to no store in a folder, such as the outboxes of
// shared stores: the store's folder where MCPREC_HOME is not set.
func StateFolder() (string, error) {
	user, err := os.UserHomeDir()
	if folder := defaultPlace(runtime.GOOS, without(os.Getenv, "MCPREC_HOME"), user); folder != "" {
		return folder, nil
	}
	return "", fmt.Errorf("find the state folder: %v; set XDG_STATE_HOME", err)
}

// without returns an environment that lacks some variables.
func without(env func(string) string, names ...string) func(string) string {
	return func(name string) string {
		if slices.Contains(names, name) {
			return ""
		}
		return env(name)
	}
}

// defaultPlace returns where the store is on a system, as the environment has it, or "" if nothing
// says where it is: user is the folder of the user, or "".
func defaultPlace(system string, env func(string) string, user string) string {
	if text := env("MCPREC_HOME"); text != "" {
		return text
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprec")
	}
	// Not the roaming folder, which Windows copies from machine to machine.
	if dir := env("LOCALAPPDATA"); system == "windows" && dir != "" {
		return filepath.Join(dir, "mcprec")
	}
	if user == "" {
		return ""
	}
	return filepath.Join(user, ".local", "state", "mcprec")
}

// place is where a store is: a folder, or a shared store that a URL names. The other fields are
// those of the URL.
type place struct {
	folder string // "" for a shared store
	scheme string // natsScheme, tlsScheme or bucketScheme
	user   *url.Userinfo
	hosts  []string // HOST or HOST:PORT of NATS servers
	name   string   // of the stream, or of the bucket
	prefix string   // of the names in the bucket, without slashes around it
	query  url.Values
}

// The schemes of shared stores.
const (
	natsScheme   = "nats"
	tlsScheme    = "tls" // NATS over TLS
	bucketScheme = "s3"
)

// The parameters that a URL may have.
var (
	streamParameters = []string{"account", "ca", "creds", "tls"}
	bucketParameters = []string{"endpoint", "region"}
)

// wanted is the form of a place, for errors.
const wanted = "want a folder, nats://HOST/STREAM or s3://BUCKET/PREFIX"

// parsePlace reads a folder or the URL of a shared store. Its errors show no credentials.
func parsePlace(text string) (place, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || len(scheme) < 2 || !consistsOf(scheme, letters+digits+"+.-") { // one letter is a drive of Windows
		return place{folder: text}, nil
	}
	p := place{scheme: strings.ToLower(scheme)}
	rest, query, _ := strings.Cut(rest, "?")
	shown := scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	fail := func(format string, args ...any) (place, error) {
		return place{}, exit.Usagef("the store %s: %s", shown, fmt.Sprintf(format, args...))
	}
	authority, path, _ := strings.Cut(rest, "/")
	path = strings.Trim(path, "/")
	var allowed []string
	switch p.scheme {
	case natsScheme, tlsScheme:
		allowed = streamParameters
	case bucketScheme:
		allowed = bucketParameters
	default:
		return fail("no store has the scheme %s://; %s", p.scheme, wanted)
	}
	var err error
	if p.query, err = url.ParseQuery(query); err != nil {
		return fail("what follows the ? is not NAME=VALUE, with & between several")
	}
	for name := range p.query {
		if !slices.Contains(allowed, name) {
			return fail("%s is no parameter of %s://; want one of %s", name, p.scheme, strings.Join(allowed, ", "))
		}
	}
	const badUser = "the user and the password before the @ are not written as in a URL; a / is %%2F there"
	if strings.Contains(path, "@") {
		return fail(badUser)
	}
	var hosts []string
	for _, host := range strings.Split(authority, ",") {
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			if p.user, err = parseUser(host[:at]); err != nil {
				return fail(badUser)
			}
			host = host[at+1:]
		}
		hosts = append(hosts, strings.ToLower(host))
	}
	if p.scheme == bucketScheme {
		p.name = hosts[0]
		p.prefix = path
		if len(p.name) < 3 || !consistsOf(p.name, letters+digits+"-.") {
			return fail("%q is not the name of a bucket; want s3://BUCKET/PREFIX", strings.Join(hosts, ","))
		}
		return p, nil
	}
	for _, host := range hosts {
		if !isHost(host) {
			return fail("%q is not HOST or HOST:PORT; want nats://HOST/STREAM", host)
		}
	}
	p.hosts = hosts
	p.name = path
	switch {
	case path == "":
		return fail("which stream? Want nats://HOST/STREAM, such as %s://%s/MCPREC", p.scheme, strings.Join(hosts, ","))
	case !consistsOf(path, letters+digits+"-_"):
		return fail("%q is not the name of a stream: want letters, digits, - and _", path)
	}
	return p, nil
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// consistsOf reports whether a text has the characters of a set and no others. It stands for regular
// expressions, which would be compiled whenever mcprec starts.
func consistsOf(text, set string) bool { return text != "" && strings.Trim(text, set) == "" }

// parseUser reads what stands before the @.
func parseUser(text string) (*url.Userinfo, error) {
	parsed, err := url.Parse("x://" + text + "@host")
	if err != nil {
		return nil, err
	}
	return parsed.User, nil
}

// isHost reports whether a text is a host, with or without a port.
func isHost(text string) bool {
	host, port := text, ""
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		host, port = text[:colon], text[colon+1:]
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
	}
	if inner, isLiteral := strings.CutPrefix(host, "["); isLiteral {
		_, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && strings.HasSuffix(host, "]")
	}
	return consistsOf(host, letters+digits+".-_")
}

// String returns the place for messages: without credentials and parameters.
func (p place) String() string {
	if p.folder != "" {
		return p.folder
	}
	if p.scheme == bucketScheme {
		return strings.TrimSuffix(p.scheme+"://"+p.name+"/"+p.prefix, "/")
	}
	return p.scheme + "://" + strings.Join(p.hosts, ",") + "/" + p.name
}

// whole returns the URL, with credentials and parameters.
func (p place) whole() string {
	text := strings.TrimPrefix(p.String(), p.scheme+"://")
	if p.user != nil {
		text = p.user.String() + "@" + text
	}
	if len(p.query) > 0 {
		text += "?" + p.query.Encode()
	}
	return p.scheme + "://" + text
}

// hidden returns an error of the place, whose text has no password.
func (p place) hidden(err error) error {
	if err == nil || p.user == nil {
		return err
	}
	secret, ok := p.user.Password()
	if !ok {
		secret = p.user.Username() // a token stands alone
	}
	if secret == "" {
		return err
	}
	text := err.Error()
	for _, form := range []string{p.user.String(), url.QueryEscape(secret), url.PathEscape(secret), secret} {
		text = strings.ReplaceAll(text, form, "xxxxx")
	}
	return maskedError{err, text}
}

// OutboxFolder returns the folder in which what is recorded for a shared store waits on this machine.
// Its name has the first server, the stream, and a hash of whatever decides where events go: the
// servers, the stream, and the account, also as the user or the file with the credentials names it.
func OutboxFolder(text string) (string, error) {
	p, err := parsePlace(text)
	if err != nil {
		return "", err
	}
	if len(p.hosts) == 0 {
		return "", fmt.Errorf("the store %s has no outbox", p)
	}
	state, err := StateFolder()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "outbox", p.outboxName()), nil
}

// outboxName returns the name of an outbox's folder.
func (p place) outboxName() string {
	hosts := slices.Clone(p.hosts)
	for i, host := range hosts {
		if strings.LastIndexByte(host, ':') <= strings.LastIndexByte(host, ']') {
			hosts[i] = host + ":4222" // the port that NATS has if none is named
		}
	}
	user := ""
	if p.user != nil {
		if _, hasPassword := p.user.Password(); hasPassword { // else it is a token
			user = p.user.Username()
		}
	}
	identity := strings.Join([]string{strings.Join(hosts, ","), p.name, p.query.Get("account"), p.query.Get("creds"), user}, "\n")
	first, _, _ := strings.Cut(p.hosts[0], ":")
	if strings.HasPrefix(p.hosts[0], "[") {
		first = strings.NewReplacer("[", "", "]", "", ":", "_").Replace(p.hosts[0])
	}
	return fmt.Sprintf("%s-%s-%.4x", first, p.name, sha256.Sum256([]byte(identity)))
}
