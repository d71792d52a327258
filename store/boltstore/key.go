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

// keySize is that of the key with which secrets are replaced.
const keySize = 32

const keyName = "redact.key"

// RedactionKey returns the key in the file redact.key, which whoever needs it first
// makes. It is whole when it has its name, and is never changed.
func (s *Store) RedactionKey() ([]byte, error) {
	path := filepath.Join(s.dir, keyName)
	key, err := readKey(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if err := s.makeKey(path); err != nil {
		return nil, fmt.Errorf("make key %s: %w", path, err)
	}
	return readKey(path)
}

// ReadKey returns the key of the store in a folder, if it has one.
func ReadKey(dir string) ([]byte, error) { return readKey(filepath.Join(dir, keyName)) }

// readKey reads a key file. It does not follow a symbolic link.
func readKey(path string) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	private(f)
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

// parseKey reads what a key file holds.
func parseKey(text []byte) ([]byte, error) {
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("not %d bytes in hexadecimal", keySize)
	}
	return key, nil
}

// makeKey makes a key file, unless another process is first.
func (s *Store) makeKey(path string) error {
	if err := makeDir(s.dir); err != nil {
		return err
	}
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.dir, ".redact-key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_ = temp.Chmod(0o600) // a umask may have taken some of that
	_, err = fmt.Fprintln(temp, hex.EncodeToString(key))
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return os.Rename(temp.Name(), path) // a filesystem without links
	}
	return syncDir(s.dir)
}
