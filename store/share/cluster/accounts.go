package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Accounts are an operator with a system account and one tenant, whose users have credential files.
type Accounts struct {
	t       testing.TB
	cluster *Cluster
	dir     string

	operator    nkeys.KeyPair
	operatorJWT string
	systemKey   string
	systemJWT   string
	systemCreds string

	tenant    nkeys.KeyPair
	tenantKey string
	tenantJWT string
	claims    *jwt.AccountClaims
	admin     string            // credentials of the test's own user
	users     map[string]string // name to public key
}

func newAccounts(t testing.TB, c *Cluster, dir string) *Accounts {
	t.Helper()
	a := &Accounts{t: t, cluster: c, dir: dir, users: map[string]string{}}
	var operatorKey string
	a.operator, operatorKey = a.key(nkeys.CreateOperator())
	system, systemKey := a.key(nkeys.CreateAccount())
	a.systemKey = systemKey
	operator := jwt.NewOperatorClaims(operatorKey)
	operator.Name = "tests"
	operator.SystemAccount = systemKey
	a.operatorJWT = a.text(operator.Encode(a.operator))
	systemClaims := jwt.NewAccountClaims(systemKey)
	systemClaims.Name = "SYS"
	a.systemJWT = a.text(systemClaims.Encode(a.operator))
	a.systemCreds = a.credentials("system", system, jwt.Permissions{})

	a.tenant, a.tenantKey = a.key(nkeys.CreateAccount())
	a.claims = jwt.NewAccountClaims(a.tenantKey)
	a.claims.Name = "TEAM"
	a.claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	a.tenantJWT = a.text(a.claims.Encode(a.operator))
	a.admin = a.AddUser("admin")
	return a
}

func (a *Accounts) key(pair nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
	return pair, a.text(pair.PublicKey())
}

func (a *Accounts) text(text string, err error) string {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

// AddUser makes a user of the tenant and returns the path of a file with the user's credentials.
func (a *Accounts) AddUser(name string) string {
	a.t.Helper()
	return a.credentials(name, a.tenant, jwt.Permissions{})
}

// AddUserWith is AddUser for a user with permissions.
func (a *Accounts) AddUserWith(name string, permissions jwt.Permissions) string {
	a.t.Helper()
	return a.credentials(name, a.tenant, permissions)
}

func (a *Accounts) credentials(name string, account nkeys.KeyPair, permissions jwt.Permissions) string {
	a.t.Helper()
	user, userKey := a.key(nkeys.CreateUser())
	claims := jwt.NewUserClaims(userKey)
	claims.Name = name
	claims.Permissions = permissions
	seed, err := user.Seed()
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(a.text(claims.Encode(account)), seed)
	if err != nil {
		a.t.Fatal(err)
	}
	a.users[name] = userKey
	path := filepath.Join(a.dir, name+".creds")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// Revoke revokes a user's credentials. The servers close the user's connections.
func (a *Accounts) Revoke(name string) {
	a.t.Helper()
	a.claims.Revoke(a.users[name])
	a.push()
}

// Reinstate takes a revocation back.
func (a *Accounts) Reinstate(name string) {
	a.t.Helper()
	a.claims.ClearRevocation(a.users[name])
	a.push()
}

// push tells the servers of the tenant's claims.
func (a *Accounts) push() {
	a.t.Helper()
	options := []nats.Option{nats.UserCredentials(a.systemCreds)}
	if a.cluster.options.TLS {
		options = append(options, nats.RootCAs(a.cluster.certificate.caFile))
	}
	conn, err := nats.Connect(a.cluster.directHosts(), options...)
	if err != nil {
		a.t.Fatal(err)
	}
	defer conn.Close()
	answer, err := conn.Request("$SYS.REQ.CLAIMS.UPDATE", []byte(a.text(a.claims.Encode(a.operator))), 10*time.Second)
	if err != nil {
		a.t.Fatal(err)
	}
	var said struct {
		Error any `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &said); err != nil || said.Error != nil {
		a.t.Fatalf("update of the account: %s, %v", answer.Data, err)
	}
}

// certificate is the servers' certificate for 127.0.0.1, and its authority.
type certificate struct{ caFile, certFile, keyFile string }

func newCertificate(t testing.TB, dir string) *certificate {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, kind string, bytes []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
		return path
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	authorityBytes, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "nats"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	leafBytes, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, authorityKey)
	check(err)
	keyBytes, err := x509.MarshalECPrivateKey(key)
	check(err)
	return &certificate{
		caFile:   write("ca.pem", "CERTIFICATE", authorityBytes),
		certFile: write("server.pem", "CERTIFICATE", leafBytes),
		keyFile:  write("server-key.pem", "EC PRIVATE KEY", keyBytes),
	}
}
