//go:build unix

package cli

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFileIsPrivate holds that a file which a command makes is its user's alone, whatever the umask.
func TestFileIsPrivate(t *testing.T) {
	write := func(w io.Writer) error { _, err := io.WriteString(w, "it"); return err }
	dir := t.TempDir()
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for name, made := range map[string]func(name string) error{
		"an output": func(name string) error { return File{Name: name}.Write(nil, write) },
		"a new file": func(name string) error {
			_, _, err := WriteNewFile(name, write, func(string) bool { return false })
			return err
		},
	} {
		path := filepath.Join(dir, name)
		if err := made(path); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
