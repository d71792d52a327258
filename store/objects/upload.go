package objects

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/minio/minio-go/v7"
)

// partSize is the size in bytes of the parts of a large object, and of the buffer that holds one. A server
// takes 10,000 parts: 156 GiB.
const partSize = 16 << 20

// abortTime bounds the request that gives up an upload, which is sent also after the caller has gone.
const abortTime = 10 * time.Second

// upload writes one object that must not exist yet. An object of one part is put in one request; a
// larger one in parts, which become an object only in finish.
type upload struct {
	ctx    context.Context
	bucket *bucket
	key    string
	buffer []byte
	number string // of the upload in parts; "": not begun
	parts  []minio.CompletePart
	size   int64
}

// Write implements io.Writer.
func (u *upload) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		if len(u.buffer) == partSize {
			if err := u.send(); err != nil {
				return 0, err
			}
		}
		room := min(partSize-len(u.buffer), len(data))
		u.buffer = append(slices.Grow(u.buffer, room), data[:room]...)
		data = data[room:]
	}
	u.size += int64(written)
	return written, nil
}

// send sends the buffer as a part.
func (u *upload) send() (err error) {
	b := u.bucket
	if u.number == "" {
		u.number, err = b.client.NewMultipartUpload(u.ctx, b.name, b.prefix+u.key, always.options(sessionType))
		if err != nil {
			return b.fault(u.ctx, err)
		}
	}
	md5Sum, sha256Sum := sums(u.buffer)
	part, err := b.client.PutObjectPart(u.ctx, b.name, b.prefix+u.key, u.number, len(u.parts)+1, bytes.NewReader(u.buffer), int64(len(u.buffer)),
		minio.PutObjectPartOptions{Md5Base64: md5Sum, Sha256Hex: sha256Sum, DisableContentSha256: true})
	if err != nil {
		return fmt.Errorf("part %d: %w", len(u.parts)+1, b.fault(u.ctx, err))
	}
	u.parts = append(u.parts, minio.CompletePart{PartNumber: part.PartNumber, ETag: part.ETag})
	u.buffer = u.buffer[:0]
	return nil
}

// finish makes the object; errTaken if there is one, which may be this very object: the answer to an
// earlier try may be lost.
func (u *upload) finish() error {
	b := u.bucket
	if u.number == "" {
		return b.put(u.ctx, u.key, u.buffer, sessionType, ifAbsent)
	}
	if len(u.buffer) > 0 {
		if err := u.send(); err != nil {
			return err
		}
	}
	_, err := b.client.CompleteMultipartUpload(u.ctx, b.name, b.prefix+u.key, u.number, u.parts, ifAbsent.options(sessionType))
	if minio.ToErrorResponse(err).Code == "NoSuchUpload" { // the first try has ended it
		return errTaken
	}
	return b.fault(u.ctx, err)
}

// abort gives up the parts that were sent, so that nobody pays for them.
func (u *upload) abort() {
	if u.number == "" {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(u.ctx), abortTime)
	defer stop()
	// If this fails, a lifecycle rule of the bucket removes the parts.
	_ = u.bucket.client.AbortMultipartUpload(ctx, u.bucket.name, u.bucket.prefix+u.key, u.number)
}
