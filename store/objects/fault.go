package objects

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/mcprec/mcprec/store"
)

// errTaken says that an object exists already, or is no longer the expected one.
var errTaken = errors.New("the object exists already, or has changed")

// codes are error codes of S3 in plain words. %[1]s is the bucket, %[2]s the endpoint.
var codes = map[string]string{
	"NoSuchBucket":          "there is no bucket %[1]s at %[2]s: create the bucket, or correct the URL",
	"RequestTimeTooSkewed":  "this machine's clock differs too much from that of %[2]s: set the clock",
	"InvalidAccessKeyId":    "%[2]s does not know the access key: correct the credentials",
	"SignatureDoesNotMatch": "%[2]s refuses the signature: correct the secret key",
	"ExpiredToken":          "the credentials for %[2]s have expired: get new ones",
	"InvalidObjectState":    "the object is in cold storage: restore the object first",
	"NotImplemented":        "%[2]s cannot do this; mcprec needs conditional puts (If-None-Match)",
	"SlowDown":              "%[2]s is overloaded: try again later",
	"InternalError":         "%[2]s has failed: try again later",
	"ServiceUnavailable":    "%[2]s is not available: try again later",
}

// fault says an error of the server or of the network in plain words. The texts of the server follow.
func (b *bucket) fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
	case isRefusedCertificate(cause):
		err = cause
	case errors.Is(cause, context.DeadlineExceeded):
		if refused := b.unreachable.Load(); refused != nil {
			return fmt.Errorf("%s cannot be reached: %w (%w)", b.endpoint, store.RootCause(*refused), cause)
		}
		return fmt.Errorf("%s does not answer: %w", b.endpoint, cause)
	default:
		return cause
	}
	response := minio.ErrorResponse{}
	if errors.As(err, &response) {
		return b.answer(response)
	}
	noTLS := tls.RecordHeaderError{}
	network := net.Error(nil)
	switch {
	case isRefusedCertificate(err):
		return fmt.Errorf("the certificate of %s is refused: %w; name your authority's file in SSL_CERT_FILE", b.endpoint, store.RootCause(err))
	case errors.As(err, &noTLS), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s does not speak TLS: write endpoint=http://… if that is meant (%w)", b.endpoint, store.RootCause(err))
	case errors.As(err, &network):
		return fmt.Errorf("%s cannot be reached: %w", b.endpoint, store.RootCause(err))
	}
	return err
}

// isRefusedCertificate reports whether an error says that a certificate does not verify.
func isRefusedCertificate(err error) bool {
	certificate := (*tls.CertificateVerificationError)(nil)
	wrongHost := x509.HostnameError{}
	unknown := x509.UnknownAuthorityError{}
	return errors.As(err, &certificate) || errors.As(err, &wrongHost) || errors.As(err, &unknown)
}

// stopKey is the key of the function in a context that ends a call with a cause.
type stopKey struct{}

// stoppable returns a context whose call a refused certificate ends at once. The client would repeat the
// request ten times.
func stoppable(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	return context.WithValue(ctx, stopKey{}, stop), stop
}

// refusals ends the calls of refused certificates, and notes whether connections are refused: the client
// tries for a while, and may tell no more than that the time was up.
type refusals struct {
	http.RoundTripper
	bucket *bucket
}

// RoundTrip implements http.RoundTripper.
func (r refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.RoundTripper.RoundTrip(request)
	if stop, ok := request.Context().Value(stopKey{}).(context.CancelCauseFunc); ok && isRefusedCertificate(err) {
		stop(err)
	}
	if network := net.Error(nil); err == nil {
		r.bucket.unreachable.Store(nil)
	} else if errors.As(err, &network) && !network.Timeout() && request.Context().Err() == nil {
		r.bucket.unreachable.Store(&err)
	}
	return response, err
}

// answer says an error response in plain words.
func (b *bucket) answer(response minio.ErrorResponse) error {
	switch {
	case response.Code == "NoSuchKey", response.Code == "NotFound":
		return fmt.Errorf("object %s: %w", response.Key, store.ErrNotFound)
	case response.StatusCode == http.StatusPreconditionFailed, response.Code == "ConditionalRequestConflict":
		return errTaken
	case response.Code == "AccessDenied" && b.anonymous:
		return fmt.Errorf("access to bucket %s is denied: no credentials were found; set AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials (%w)", b.name, response)
	case response.Code == "AccessDenied":
		return fmt.Errorf("access to bucket %s is denied: the credentials need s3:ListBucket, s3:GetObject, and for an archive "+
			"s3:PutObject and s3:DeleteObject (%w)", b.name, response)
	case response.Region != "" && (response.Code == "AuthorizationHeaderMalformed" || response.Code == "PermanentRedirect"):
		return fmt.Errorf("bucket %s is in region %s: write region=%[2]s (%w)", b.name, response.Region, response)
	}
	if text := codes[response.Code]; text != "" {
		return fmt.Errorf(text+" (%[3]w)", b.name, b.endpoint, response)
	}
	return fmt.Errorf("%s answers: %w", b.endpoint, response)
}
