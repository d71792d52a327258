package clientconfig

import (
	"fmt"
	"io"
	"os"
)

// mostBytes is more than the configuration of any client has.
const mostBytes = 64 << 20

// readFile reads a configuration file. It may be that of a project of somebody else: nothing waits at a
// pipe, and a file without end does not fill the memory.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("read %s: it is a directory", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: it is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return nil, err
	}
	if len(content) > mostBytes {
		return nil, fmt.Errorf("read %s: it has more than %d MiB, which no configuration has", name, mostBytes>>20)
	}
	return content, nil
}
