package session

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlace: which texts are folders, which are URLs of shared stores, and what is shown of them.
func TestPlace(t *testing.T) {
	const badUser = "the user and the password before the @ are not written as in a URL; a / is %2F there"
	for text, want := range map[string]string{
		`store`:            `store`,
		`/var/lib/mcprec`:  `/var/lib/mcprec`,
		`C:\Users\me`:      `C:\Users\me`,
		`C:/Users/me`:      `C:/Users/me`,
		`C://Users/me`:     `C://Users/me`,
		`nats:/host/store`: `nats:/host/store`,
		`./nats://h/S`:     `./nats://h/S`,

		"nats://host/TEAM":                  "nats://host/TEAM",
		"NATS://host:4222/Team_1-a/":        "nats://host:4222/Team_1-a",
		"nats://a:1,b,[::1]:4222/S":         "nats://a:1,b,[::1]:4222/S",
		"tls://me:hunter2@a,b/S?account=X":  "tls://a,b/S",
		"nats://hunter2@host/S?creds=hunt":  "nats://host/S",
		"nats://host":                       "nats://host/MCPREC",
		"s3://bucket":                       "s3://bucket",
		"s3://bucket/a/b/?region=r":         "s3://bucket/a/b",
		"s3://bucket/a?endpoint=http://h:1": "s3://bucket/a",

		"http://me:hunter2@host/S":              "the store http://host/S: no store has the scheme http://; want a folder, nats://HOST/STREAM or s3://BUCKET/PREFIX",
		"nats://me:hunter2@/S":                  "the store nats:///S: a host is missing: write nats://HOST/STREAM",
		"nats://me:hunter2@host/a.b":            `the store nats://host/a.b: stream "a.b": use up to 64 letters, digits, _ and -`,
		"nats://host/S?user=hunter2":            "the store nats://host/S: user: not known; there are creds, account, ca, inbox, tls and replicas",
		"nats://hun%zzter2@host/S":              "the store nats://host/S: what stands before the @ is no user and password; write odd characters as %XX",
		"nats://me:hunt/er2@host/S":             "the store nats://host/S: " + badUser,
		"s3:///a":                               `the store s3:///a: "" is not the name of a bucket; want s3://BUCKET/PREFIX`,
		"s3://a,b/c":                            `the store s3://a,b/c: "a,b" is not the name of a bucket; want s3://BUCKET/PREFIX`,
		"s3://bucket?creds=hunter2":             "the store s3://bucket: creds: not known; there are endpoint and region",
		"s3://bucket?region=%zz":                "the store s3://bucket: what follows the ? has the form name=value&name=value",
		"s3://me:hunter2@bucket/a":              "the store s3://bucket/a: credentials do not stand in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
		"s3://bucket?endpoint=http://hunter2@h": "the store s3://bucket: credentials do not stand in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
	} {
		p, err := parsePlace(text)
		got := p.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
		if strings.Contains(got, "hunt") {
			t.Errorf("%s: the password is shown: %s", text, got)
		}
	}
}

// TestHidden: an error of a place shows neither its password nor its token, in whatever form.
func TestHidden(t *testing.T) {
	for text, said := range map[string]string{
		"nats://me:hunt%2Fer2@host/S": "dial nats://me:hunt%2Fer2@host: hunt/er2 refused",
		"nats://hunter2@host/S":       "dial nats://hunter2@host: refused",
	} {
		p, err := parsePlace(text)
		if err != nil {
			t.Fatal(err)
		}
		cause := fmt.Errorf("%s: %w", said, context.Canceled)
		got := p.hidden(cause)
		if strings.Contains(got.Error(), "hunt") || !strings.HasPrefix(got.Error(), "dial nats://") || !errors.Is(got, context.Canceled) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestAbsolute: what wrap writes into a configuration works from any folder.
func TestAbsolute(t *testing.T) {
	here, err := filepath.Abs("")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"store":                       filepath.Join(here, "store"),
		"nats://me:pass@a,b/S":        "nats://me:pass@a,b/S",
		"nats://a/S?tls=true&creds=x": "nats://a/S?creds=" + url.QueryEscape(filepath.Join(here, "x")) + "&tls=true",
	} {
		got, err := (&Home{Place: text}).Absolute()
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
		if again, err := (&Home{Place: got}).Absolute(); err != nil || again != got {
			t.Errorf("%s: %s, and then %s, %v", text, got, again, err)
		}
	}
}

// TestOutboxFolder: two places have the same outbox if and only if events go to the same account of the
// same servers.
func TestOutboxFolder(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"MCPREC_HOME": "nats://elsewhere/S", "XDG_STATE_HOME": "", "LOCALAPPDATA": "", "HOME": home, "USERPROFILE": home} {
		t.Setenv(name, value)
	}
	folders := map[string][]string{}
	for _, text := range []string{
		"nats://host/S", "nats://HOST:4222/S/", "nats://token@host/S", "nats://host/S?ca=file", "tls://host/S",
		"nats://me:old@host/S", "nats://me:new@host/S",
		"nats://you:old@host/S", "nats://host/S?account=A", "nats://host/S?creds=file", "nats://host/T", "nats://host:1/S", "nats://host,other/S",
	} {
		folder, err := OutboxFolder(text)
		if err != nil {
			t.Fatal(err)
		}
		folders[folder] = append(folders[folder], text)
		parent, name := filepath.Split(folder)
		if filepath.Clean(parent) != filepath.Join(home, ".local", "state", "mcprec", "outbox") || len(name) != len("host-S-01234567") || !strings.HasPrefix(name, "host-") {
			t.Errorf("%s: %s", text, folder)
		}
	}
	if len(folders) != 8 {
		t.Errorf("the outboxes are %v", folders)
	}
	for text, want := range map[string]string{"nats://host/S": "host-S-", "nats://[fe80::1]:4222/S": "fe80__1_4222-S-", "nats://10.0.0.1:4222,b/S": "10.0.0.1-S-"} {
		if folder, err := OutboxFolder(text); err != nil || !strings.HasPrefix(filepath.Base(folder), want) {
			t.Errorf("%s: %s, %v, want %s…", text, folder, err, want)
		}
	}
	for _, text := range []string{"folder", "s3://bucket/prefix", "nats://"} {
		if folder, err := OutboxFolder(text); err == nil {
			t.Errorf("%s has the outbox %s", text, folder)
		}
	}
}
