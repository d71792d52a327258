package objects

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/mcprec/mcprec/store"
)

// bucket is the part of a bucket below a prefix. Keys do not have the prefix. The client repeats a
// request up to ten times after errors of the network and of an overloaded server.
type bucket struct {
	client    *minio.Core
	transport *http.Transport
	name      string
	prefix    string // "" or with a slash at the end
	endpoint  string // for errors: with its scheme
	anonymous bool   // no credentials were found

	unreachable atomic.Pointer[error] // why the last request found no connection; nil: it found one
}

// maxSmall is the most bytes of an object that is read into memory: summaries and marks.
const maxSmall = 64 << 20

// roleTimeout bounds a question for the credentials of a machine's role.
const roleTimeout = 5 * time.Second

func newBucket(options Options) (*bucket, error) {
	if options.Bucket == "" {
		return nil, errors.New("no bucket is named: write s3://BUCKET")
	}
	endpoint := options.Endpoint
	if endpoint == "" {
		endpoint = "https://s3.amazonaws.com"
	}
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	address, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", options.Endpoint, store.RootCause(err))
	}
	isPlain := address.Scheme == "http"
	if address.Host == "" || !isPlain && address.Scheme != "https" || strings.Trim(address.Path, "/") != "" || address.User != nil {
		return nil, fmt.Errorf("endpoint %q: want https://HOST[:PORT], or http:// for a connection without TLS", address.Redacted())
	}
	b := &bucket{name: options.Bucket, endpoint: address.Scheme + "://" + address.Host}
	if prefix := strings.Trim(options.Prefix, "/"); prefix != "" {
		b.prefix = prefix + "/"
	}
	b.transport, err = minio.DefaultTransport(!isPlain)
	if err != nil {
		return nil, err
	}
	keys := findCredentials(strings.HasSuffix(address.Hostname(), ".amazonaws.com"))
	found, err := keys.GetWithContext(&credentials.CredContext{Client: &http.Client{Transport: b.transport, Timeout: roleTimeout}})
	if err != nil {
		return nil, fmt.Errorf("credentials for %s: %w", b.endpoint, err)
	}
	b.anonymous = found.AccessKeyID == ""
	if b.anonymous { // else each request would look for them again
		keys = credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	}
	region := options.Region
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if region == "" {
			region = os.Getenv(name)
		}
	}
	b.client, err = minio.NewCore(address.Host, &minio.Options{Creds: keys, Secure: !isPlain, Region: region, Transport: refusals{b.transport, b}})
	if err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", b.endpoint, err)
	}
	return b, nil
}

// findCredentials returns the usual places of credentials, in order: the environment, the files of aws
// and mc, and the role of the machine or container. A machine is asked for its role only where it can
// have one, because elsewhere nobody answers.
func findCredentials(isAmazon bool) *credentials.Credentials {
	providers := []credentials.Provider{
		&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{}, &credentials.FileMinioClient{},
	}
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		isAmazon = isAmazon || os.Getenv(name) != ""
	}
	if isAmazon {
		providers = append(providers, &credentials.IAM{Client: &http.Client{Timeout: roleTimeout}})
	}
	return credentials.NewChainCredentials(providers)
}

// url returns the place of a key for errors.
func (b *bucket) url(key string) string { return "s3://" + b.name + "/" + b.prefix + key }

// get returns a small object and its ETag; ErrNotFound if there is none.
func (b *bucket) get(ctx context.Context, key string) (data []byte, etag string, err error) {
	body, info, _, err := b.client.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, "", b.fault(ctx, err)
	}
	defer body.Close()
	data, err = io.ReadAll(io.LimitReader(body, maxSmall))
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", b.url(key), b.fault(ctx, err))
	}
	return data, info.ETag, nil
}

// size returns the size of an object; ErrNotFound if there is none.
func (b *bucket) size(ctx context.Context, key string) (int64, error) {
	info, err := b.client.StatObject(ctx, b.name, b.prefix+key, minio.StatObjectOptions{})
	return info.Size, b.fault(ctx, err)
}

// condition is what must be so for a put; else the error is errTaken.
type condition string

const (
	always   condition = ""
	ifAbsent condition = "*"
	// Any other condition is an ETag, and the object must have it.
)

func (c condition) options(contentType string) minio.PutObjectOptions {
	options := minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true} // put gives the sum
	switch c {
	case always:
	case ifAbsent:
		options.SetMatchETagExcept("*")
	default:
		options.SetMatchETag(string(c))
	}
	return options
}

// put writes an object in one request. The server checks the sums before it keeps the object.
func (b *bucket) put(ctx context.Context, key string, data []byte, contentType string, when condition) error {
	md5Sum, sha256Sum := sums(data)
	_, err := b.client.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(data), int64(len(data)), md5Sum, sha256Sum, when.options(contentType))
	return b.fault(ctx, err)
}

// sums returns the MD5 sum in base64 and the SHA-256 sum in hex, the two that every server checks.
func sums(data []byte) (md5Sum, sha256Sum string) {
	first := md5.Sum(data)
	second := sha256.Sum256(data)
	return base64.StdEncoding.EncodeToString(first[:]), hex.EncodeToString(second[:])
}

// remove deletes an object; no error if there is none.
func (b *bucket) remove(ctx context.Context, key string) error {
	err := b.fault(ctx, b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// list yields the keys with a prefix in order, a thousand a request. With nested false it yields
// the names up to the next slash, with the slash.
func (b *bucket) list(ctx context.Context, prefix string, nested bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		listing := b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: nested})
		for object := range listing {
			if object.Err != nil {
				yield("", b.fault(ctx, object.Err))
				return
			}
			if !yield(strings.TrimPrefix(object.Key, b.prefix), nil) {
				return
			}
		}
		if cause := context.Cause(ctx); cause != nil {
			yield("", b.fault(ctx, cause))
		}
	}
}

// check asks the server for the first key, which shows that the bucket can be read.
func (b *bucket) check(ctx context.Context) error {
	listing := b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + root, MaxKeys: 1})
	for object := range listing {
		return b.fault(ctx, object.Err)
	}
	return b.fault(ctx, context.Cause(ctx))
}

// download reads an object from its beginning to its end. After a broken connection it asks for the
// rest of the same version of the object.
type download struct {
	ctx    context.Context
	bucket *bucket
	key    string
	etag   string
	offset int64
	size   int64
	body   io.ReadCloser
	breaks int   // since the last byte
	fault  error // of the server or the network, in plain words
}

// maxBreaks is the number of broken connections without a byte between them that end a download.
const maxBreaks = 4

// open starts a download; ErrNotFound if there is no object.
func (b *bucket) open(ctx context.Context, key string) (*download, error) {
	d := &download{ctx: ctx, bucket: b, key: key}
	return d, d.connect()
}

// connect asks for the rest of the object.
func (d *download) connect() error {
	options := minio.GetObjectOptions{}
	if d.offset > 0 {
		if err := options.SetMatchETag(d.etag); err != nil {
			return err
		}
		if err := options.SetRange(d.offset, 0); err != nil {
			return err
		}
	}
	body, info, _, err := d.bucket.client.GetObject(d.ctx, d.bucket.name, d.bucket.prefix+d.key, options)
	if err != nil {
		return d.bucket.fault(d.ctx, err)
	}
	d.body = body
	if d.offset == 0 {
		d.etag = info.ETag
		d.size = info.Size
	}
	return nil
}

// Read implements io.Reader.
func (d *download) Read(data []byte) (int, error) {
	for d.fault == nil && d.offset < d.size {
		if d.body == nil {
			d.fault = d.connect()
			continue
		}
		n, err := d.body.Read(data)
		d.offset += int64(n)
		if n > 0 {
			d.breaks = 0
		}
		if err != nil {
			d.Close()
			d.breaks++
		}
		if n > 0 {
			return n, nil
		}
		if d.breaks > maxBreaks || d.ctx.Err() != nil {
			d.fault = fmt.Errorf("the connection broke after %d of %d bytes: %w", d.offset, d.size, d.bucket.fault(d.ctx, err))
		}
	}
	if d.fault != nil {
		return 0, d.fault
	}
	return 0, io.EOF
}

// Close ends the connection.
func (d *download) Close() {
	if d.body != nil {
		_ = d.body.Close() // only read from
	}
	d.body = nil
}
