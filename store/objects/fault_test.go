package objects

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/mcprec/mcprec/store"
)

func TestFault(t *testing.T) {
	wrap := func(err error) error { return &url.Error{Op: "Get", URL: "https://s3.example", Err: err} }
	for want, err := range map[string]error{
		"there is no bucket sessions at https://s3.example": minio.ErrorResponse{Code: "NoSuchBucket"},
		"set the clock":                   minio.ErrorResponse{Code: "RequestTimeTooSkewed", StatusCode: http.StatusForbidden},
		"no credentials were found":       minio.ErrorResponse{Code: "AccessDenied"},
		"does not know the access key":    minio.ErrorResponse{Code: "InvalidAccessKeyId"},
		"write region=eu-west-1":          minio.ErrorResponse{Code: "AuthorizationHeaderMalformed", Region: "eu-west-1"},
		"needs conditional puts":          minio.ErrorResponse{Code: "NotImplemented", StatusCode: http.StatusNotImplemented},
		"https://s3.example answers: odd": minio.ErrorResponse{Code: "Odd", Message: "odd"},
		"SSL_CERT_FILE":                   wrap(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
		"certificate of https":            wrap(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "s3.example"}),
		"does not speak TLS":              wrap(errors.New("http: server gave HTTP response to HTTPS client")),
		"cannot be reached":               wrap(&net.OpError{Op: "dial", Err: errors.New("refused")}),
	} {
		b := &bucket{name: "sessions", endpoint: "https://s3.example", anonymous: true}
		if got := b.fault(t.Context(), err); !strings.Contains(got.Error(), want) || strings.Contains(got.Error(), "%!") {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	b := &bucket{}
	for want, err := range map[error]error{
		store.ErrNotFound: minio.ErrorResponse{Code: "NoSuchKey", StatusCode: http.StatusNotFound},
		errTaken:          minio.ErrorResponse{Code: "PreconditionFailed", StatusCode: http.StatusPreconditionFailed},
	} {
		if got := b.fault(t.Context(), err); !errors.Is(got, want) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(store.ErrClosed)
	if got := b.fault(ctx, errors.New("any")); got != store.ErrClosed {
		t.Errorf("after the end of the context: %v", got)
	}
	ctx, stop = context.WithCancelCause(t.Context())
	stop(context.DeadlineExceeded)
	got := (&bucket{endpoint: "https://s3.example"}).fault(ctx, errors.New("any"))
	if !errors.Is(got, context.DeadlineExceeded) || !strings.Contains(got.Error(), "https://s3.example does not answer") {
		t.Errorf("after the time for a call: %v", got)
	}
	b = &bucket{endpoint: "https://s3.example"}
	refused := error(&net.OpError{Op: "dial", Err: errors.New("refused")})
	b.unreachable.Store(&refused)
	if got := b.fault(ctx, errors.New("any")); !strings.Contains(got.Error(), "https://s3.example cannot be reached: refused") {
		t.Errorf("after the time for a call without a connection: %v", got)
	}
}

// TestOptions: which endpoints are taken. No server is asked.
func TestOptions(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for endpoint, want := range map[string]string{
		"":                          "https://s3.amazonaws.com",
		"s3.example":                "https://s3.example",
		"s3.example:9000":           "https://s3.example:9000",
		"https://s3.example/":       "https://s3.example",
		"http://localhost:9000":     "http://localhost:9000",
		"ftp://s3.example":          "",
		"https://s3.example/path":   "",
		"https://u:hush@s3.example": "",
		"https://":                  "",
		"https://%zz":               "",
	} {
		b, err := newBucket(Options{Bucket: "sessions", Prefix: "/a/b/", Endpoint: endpoint})
		switch {
		case want == "" && (err == nil || strings.Contains(err.Error(), "hush")):
			t.Errorf("%s: %v", endpoint, err)
		case want != "" && (err != nil || b.endpoint != want || b.url("x") != "s3://sessions/a/b/x"):
			t.Errorf("%s: %+v, %v", endpoint, b, err)
		}
	}
	if _, err := newBucket(Options{}); err == nil {
		t.Error("no bucket: accepted")
	}
}
