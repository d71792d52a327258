package boltstore

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// keySize is the size of the key of placeholders, in bytes.
const keySize = 32

const keyName = "redact.key"

// RedactionKey returns the key in the file redact.key; the first caller makes it. The file
// gets the name when complete, and changes by UseKey only.
func (f *directory) RedactionKey() ([]byte, error) {
	path := filepath.Join(f.dir, keyName)
	key, err := readKey(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	key = make([]byte, keySize)
	_, err = rand.Read(key)
	if err == nil {
		err = f.writeKey(path, key, false)
	}
	if err != nil {
		return nil, fmt.Errorf("make key %s: %w", path, err)
	}
	return readKey(path)
}

// UseKey keeps a key for placeholders in the place of the store's own. What is masked from then on has
// the placeholders of every store with that key.
func (f *directory) UseKey(key []byte) error {
	path := filepath.Join(f.dir, keyName)
	if len(key) != keySize {
		return fmt.Errorf("keep key %s: not %d bytes", path, keySize)
	}
	held, err := readKey(path)
	if err == nil && bytes.Equal(held, key) {
		return nil
	}
	if err := f.writeKey(path, key, true); err != nil {
		return fmt.Errorf("keep key %s: %w", path, err)
	}
	return nil
}

// ReadKey returns the key of the store in a folder, if there is a key.
func ReadKey(dir string) ([]byte, error) { return readKey(filepath.Join(dir, keyName)) }

// readKey reads a key file, but follows no symbolic link.
func readKey(path string) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	makePrivate(f)
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %v; remove it to have a new one", path, err)
	}
	return key, nil
}

// parseKey parses the content of a key file.
func parseKey(text []byte) ([]byte, error) {
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("not %d bytes in hexadecimal", keySize)
	}
	return key, nil
}

// writeKey writes a key file, unless there is one and it is not to be replaced.
func (f *directory) writeKey(path string, key []byte, replace bool) error {
	if err := makeFolder(f.dir); err != nil {
		return err
	}
	temp, err := os.CreateTemp(f.dir, ".redact-key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_ = temp.Chmod(0o600) // a umask may have taken some of that
	_, err = fmt.Fprintln(temp, hex.EncodeToString(key))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	if !replace {
		err = os.Link(temp.Name(), path)
	}
	if replace || err != nil && !errors.Is(err, os.ErrExist) { // a filesystem without links
		err = os.Rename(temp.Name(), path)
		if err != nil {
			return err
		}
	}
	return syncDir(f.dir)
}
