package stream

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Options say where the streams are.
type Options struct {
	Servers []string      // "host" or "host:port"; the port is 4222 by default
	TLS     bool          // encrypt, and verify the certificate; servers may ask for it by themselves, too
	User    *url.Userinfo // name and password, or a token as the name; nil: none
	Creds   string        // a credentials file of NATS
	CA      string        // a PEM file with the authorities to trust, in the place of the system's
	Account string        // the account to be in; another is refused
	Inbox   string        // the prefix of the subjects on which answers come; "": that of NATS, _INBOX
	Stream  string        // "": MCPREC
	Name    string        // of the connection, in the server's lists
	// Replicas is how many servers keep each stream that Open makes. 0: three, or one where there are no three.
	Replicas int
	// Make has Open make streams that are not there.
	Make bool
	// MaxBytes bounds the stream of chunks that Open makes; a full stream refuses appends. MaxAge is how long
	// the streams that it makes keep a message. Streams that exist with other bounds are refused. 0: no bound
	// for a new stream, any for one that exists.
	MaxBytes int64
	MaxAge   time.Duration
	// Lease is how long a session is live without a word from its push. 0: 35 seconds.
	Lease time.Duration
}

const (
	defaultStream = "MCPREC"
	defaultPort   = "4222"
	defaultLease  = 35 * time.Second
)

// isStreamName reports whether a text is a stream name, a part of a subject and a part of a URL as it
// stands. A regular expression would be compiled whenever a program with this package starts.
func isStreamName(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return text != "" && len(text) <= 64 && strings.Trim(text, letters) == ""
}

// ParseURL reads nats://HOST[:PORT][,HOST[:PORT]…][/STREAM][?creds=FILE&account=NAME&ca=FILE&inbox=PREFIX&tls=true&replicas=N].
// The scheme tls:// is nats:// with tls=true. An error does not repeat the user's password.
func ParseURL(text string) (options Options, err error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme != "nats" && scheme != "tls" {
		return options, errors.New("it does not begin with nats:// or tls://")
	}
	options.TLS = scheme == "tls"
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(hosts, '@'); at >= 0 {
		whole, err := url.Parse("nats://" + hosts[:at+1] + "host")
		if err != nil {
			return options, errors.New("what stands before the @ is no user and password; write odd characters as %XX")
		}
		options.User = whole.User
		hosts = hosts[at+1:]
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if err := checkHost(host); err != nil {
			return options, fmt.Errorf("%w", err)
		}
		options.Servers = append(options.Servers, host)
	}
	options.Stream = strings.TrimSuffix(path, "/")
	if options.Stream == "" {
		options.Stream = defaultStream
	}
	if !isStreamName(options.Stream) {
		return options, fmt.Errorf("stream %q: use up to 64 letters, digits, _ and -", options.Stream)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return options, errors.New("what follows the ? has the form name=value&name=value")
	}
	return options, options.set(values)
}

// set takes the settings behind the ? of a URL.
func (o *Options) set(values url.Values) (err error) {
	for name, list := range values {
		value := list[0]
		switch {
		case len(list) > 1:
			err = errors.New("it stands there twice")
		case name == "creds":
			o.Creds = value
		case name == "account":
			o.Account = value
		case name == "ca":
			o.CA = value
		case name == "inbox":
			o.Inbox = value
			if strings.Trim(value, ".") != value || strings.ContainsAny(value, "*> \t") || strings.Contains(value, "..") {
				err = errors.New("use a subject without wildcards, such as _INBOX_reader")
			}
		case name == "tls":
			var on bool
			on, err = strconv.ParseBool(value)
			o.TLS = o.TLS || on
		case name == "replicas":
			o.Replicas, err = strconv.Atoi(value)
			if err == nil && (o.Replicas < 1 || o.Replicas > 5) {
				err = errors.New("use 1, 3 or 5")
			}
		default:
			err = errors.New("not known; there are creds, account, ca, inbox, tls and replicas")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func checkHost(host string) error {
	if host == "" {
		return errors.New("a host is missing: write nats://HOST/STREAM")
	}
	if strings.Contains(strings.TrimSuffix(host, "]"), ":") && !strings.HasSuffix(host, "]") {
		_, port, err := net.SplitHostPort(host)
		if err != nil {
			return fmt.Errorf("host %q: write HOST or HOST:PORT, and IPv6 addresses in []", host)
		}
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return fmt.Errorf("host %q: the port is a number up to 65535", host)
		}
	}
	if _, err := url.Parse("nats://" + host); err != nil {
		return fmt.Errorf("host %q: write HOST or HOST:PORT, and IPv6 addresses in []", host)
	}
	return nil
}

// URL returns where the streams are, without credentials.
func (o Options) URL() string {
	scheme := "nats"
	if o.TLS {
		scheme = "tls"
	}
	return scheme + "://" + strings.Join(o.Servers, ",") + "/" + o.stream()
}

func (o Options) stream() string {
	if o.Stream == "" {
		return defaultStream
	}
	return o.Stream
}

func (o Options) lease() time.Duration {
	if o.Lease == 0 {
		return defaultLease
	}
	return o.Lease
}

// addresses returns the servers as nats.go wants them.
func (o Options) addresses() string {
	list := make([]string, len(o.Servers))
	for i, server := range o.Servers {
		list[i] = "nats://" + server
		if o.TLS {
			list[i] = "tls://" + server
		}
	}
	return strings.Join(list, ",")
}

// hidden returns an error whose text has no password of the options.
func (o Options) hidden(err error) error {
	if err == nil || o.User == nil {
		return err
	}
	secret, ok := o.User.Password()
	if !ok {
		secret = o.User.Username() // a token stands alone
	}
	if secret == "" {
		return err
	}
	text := err.Error()
	for _, form := range []string{o.User.String(), url.QueryEscape(secret), url.PathEscape(secret), secret} {
		text = strings.ReplaceAll(text, form, "xxxxx")
	}
	if text == err.Error() {
		return err
	}
	return hiddenError{err, text}
}

// hiddenError is an error with another text.
type hiddenError struct {
	error
	text string
}

// Error returns the text without the password.
func (e hiddenError) Error() string { return e.text }

// Unwrap returns the error.
func (e hiddenError) Unwrap() error { return e.error }

// FolderName returns a name for what is kept on this machine about the streams: the first server, the stream, and a
// hash of whatever decides where events go, also the account as the user or the credentials file names it.
func (o Options) FolderName() string {
	hosts := make([]string, len(o.Servers))
	for i, host := range o.Servers {
		hosts[i] = strings.ToLower(host)
		if strings.LastIndexByte(host, ':') <= strings.LastIndexByte(host, ']') {
			hosts[i] += ":" + defaultPort
		}
	}
	creds := o.Creds
	if whole, err := filepath.Abs(creds); err == nil && creds != "" {
		creds = whole // the same from every folder
	}
	name := ""
	if o.User != nil {
		if _, hasPassword := o.User.Password(); hasPassword { // else it is a token
			name = o.User.Username()
		}
	}
	identity := strings.Join([]string{strings.Join(hosts, ","), o.stream(), o.Account, creds, name}, "\n")
	first := strings.NewReplacer("[", "", "]", "", ":", "_").Replace(hosts[0])
	return fmt.Sprintf("%s-%s-%.4x", strings.TrimSuffix(first, "_"+defaultPort), o.stream(), sha256.Sum256([]byte(identity)))
}
