package stream

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]Options{
		"nats://host":                       {Servers: []string{"host"}, Stream: "MCPREC"},
		"nats://host/":                      {Servers: []string{"host"}, Stream: "MCPREC"},
		"nats://a:4222,b:4223,[::1]:1/TEAM": {Servers: []string{"a:4222", "b:4223", "[::1]:1"}, Stream: "TEAM"},
		"tls://host/TEAM/":                  {Servers: []string{"host"}, Stream: "TEAM", TLS: true},
		"nats://host/TEAM?tls=true":         {Servers: []string{"host"}, Stream: "TEAM", TLS: true},
		"nats://host?inbox=_INBOX_me":       {Servers: []string{"host"}, Stream: "MCPREC", Inbox: "_INBOX_me"},
		"nats://host?creds=%2Fa+b%2Fc&account=A&ca=x.pem&replicas=3": {
			Servers: []string{"host"}, Stream: "MCPREC", Creds: "/a b/c", Account: "A", CA: "x.pem", Replicas: 3,
		},
	} {
		got, err := ParseURL(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
			continue
		}
		again, err := ParseURL(got.URL())
		if err != nil || got.URL() != again.URL() || !reflect.DeepEqual(got.Servers, again.Servers) || got.TLS != again.TLS {
			t.Errorf("%s: its URL %s is read as %+v, %v", text, got.URL(), again, err)
		}
	}
}

func TestParseURLRefused(t *testing.T) {
	for text, want := range map[string]string{
		"http://host":                  "does not begin with",
		"host":                         "does not begin with",
		"nats://":                      "a host is missing",
		"nats:///TEAM":                 "a host is missing",
		"nats://a,,b/TEAM":             "a host is missing",
		"nats://a:port/TEAM":           "the port is a number",
		"nats://a:0/TEAM":              "the port is a number",
		"nats://::1/TEAM":              "IPv6 addresses in []",
		"nats://a b/TEAM":              "write HOST",
		"nats://host/MY.STREAM":        "letters, digits",
		"nats://host/A/B":              "letters, digits",
		"nats://host/A?cred=x":         "not known",
		"nats://host/A?tls=maybe":      "tls:",
		"nats://host/A?replicas=9":     "use 1, 3 or 5",
		"nats://host/A?inbox=a.%3E":    "without wildcards",
		"nats://host/A?inbox=a.":       "without wildcards",
		"nats://host/A?creds=a&creds=": "twice",
		"nats://u:se%cret@host/A":      "before the @",
	} {
		_, err := ParseURL(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// The place of a store that a user sees has no secrets.
func TestURLHidesSecrets(t *testing.T) {
	options, err := ParseURL("nats://name:secret@a,b:1/TEAM?creds=/home/me/x.creds")
	if err != nil {
		t.Fatal(err)
	}
	if password, _ := options.User.Password(); options.User.Username() != "name" || password != "secret" {
		t.Errorf("user %v", options.User)
	}
	if got, want := options.URL(), "nats://a,b:1/TEAM"; got != want {
		t.Errorf("URL %s, want %s", got, want)
	}
}
