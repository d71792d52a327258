package session

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// ShowsPassword reports whether the URL of the store has a password or a token in it.
func (h *Home) ShowsPassword() bool {
	p, err := h.place()
	return err == nil && p.stream.User != nil
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
	before, query, _ := strings.Cut(p.text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", err // unreachable: it was read before
	}
	for _, name := range []string{"ca", "creds"} {
		if path := values.Get(name); path != "" {
			whole, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			values.Set(name, whole)
		}
	}
	if len(values) == 0 {
		return before, nil
	}
	return before + "?" + values.Encode(), nil
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

// wanted is the form of a place, for errors.
const wanted = "want a folder, nats://HOST/STREAM or s3://BUCKET/PREFIX"

// parsePlace reads a folder or the URL of a shared store. Its errors show no credentials.
func parsePlace(text string) (place, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || len(scheme) < 2 || !consistsOf(scheme, letters+digits+"+.-") { // one letter is a drive of Windows
		return place{folder: text, location: text}, nil
	}
	scheme = strings.ToLower(scheme)
	p := place{text: scheme + "://" + rest}
	before, _, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(before, "/")
	var err error
	switch {
	case strings.Contains(path, "@"):
		err = errors.New("the user and the password before the @ are not written as in a URL; a / is %2F there")
	case scheme == "nats" || scheme == "tls":
		err = p.readStream()
	case scheme == "s3":
		err = p.readBucket(authority, path)
	default:
		err = fmt.Errorf("no store has the scheme %s://; %s", scheme, wanted)
	}
	if err != nil {
		shown := scheme + "://" + before[strings.LastIndexByte(before, '@')+1:]
		return place{}, exit.Usagef("the store %s: %w", shown, err)
	}
	return p, nil
}

// readBucket reads BUCKET/PREFIX?endpoint=URL&region=R.
func (p *place) readBucket(authority, path string) error {
	_, query, _ := strings.Cut(p.text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what follows the ? has the form name=value&name=value")
	}
	for name := range values {
		if name != "endpoint" && name != "region" {
			return fmt.Errorf("%s: not known; there are endpoint and region", name)
		}
	}
	endpoint := values.Get("endpoint")
	if strings.Contains(authority+endpoint, "@") {
		return errors.New("credentials do not stand in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if len(authority) < 3 || !consistsOf(authority, letters+digits+"-.") {
		return fmt.Errorf("%q is not the name of a bucket; want s3://BUCKET/PREFIX", authority)
	}
	p.bucket.Bucket = authority
	p.bucket.Prefix = strings.Trim(path, "/")
	p.bucket.Endpoint = endpoint
	p.bucket.Region = values.Get("region")
	p.location = strings.TrimSuffix("s3://"+authority+"/"+p.bucket.Prefix, "/")
	return nil
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// consistsOf reports whether a text has the characters of a set and no others. It stands for regular
// expressions, which would be compiled whenever mcprec starts.
func consistsOf(text, set string) bool { return text != "" && strings.Trim(text, set) == "" }

// String returns the place for messages: without credentials and parameters.
func (p place) String() string { return p.location }

// hidden returns an error of the place, whose text has no password.
func (p place) hidden(err error) error {
	user := p.stream.User
	if err == nil || user == nil {
		return err
	}
	secret, ok := user.Password()
	if !ok {
		secret = user.Username() // a token stands alone
	}
	if secret == "" {
		return err
	}
	text := err.Error()
	for _, form := range []string{user.String(), url.QueryEscape(secret), url.PathEscape(secret), secret} {
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
	if len(p.stream.Servers) == 0 {
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
	hosts := make([]string, len(p.stream.Servers))
	for i, host := range p.stream.Servers {
		hosts[i] = strings.ToLower(host)
		if strings.LastIndexByte(host, ':') <= strings.LastIndexByte(host, ']') {
			hosts[i] += ":4222" // the port that NATS has if none is named
		}
	}
	creds := p.stream.Creds
	if whole, err := filepath.Abs(creds); err == nil && creds != "" {
		creds = whole // the same from every folder
	}
	name := ""
	if user := p.stream.User; user != nil {
		if _, hasPassword := user.Password(); hasPassword { // else it is a token
			name = user.Username()
		}
	}
	identity := strings.Join([]string{strings.Join(hosts, ","), p.stream.Stream, p.stream.Account, creds, name}, "\n")
	first, _, _ := strings.Cut(hosts[0], ":")
	if strings.HasPrefix(hosts[0], "[") {
		first = strings.NewReplacer("[", "", "]", "", ":", "_").Replace(hosts[0])
	}
	return fmt.Sprintf("%s-%s-%.4x", first, p.stream.Stream, sha256.Sum256([]byte(identity)))
}
