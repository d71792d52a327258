package child

import (
	"bytes"
	"os"
	"syscall"
)

// tail is a file to which a process writes, and of which we want the end. A pipe would not do: its writer may have to
// wait for us, and would not be at rest by itself.
type tail struct {
	file *os.File // without a name: it lives as long as it is open
	most int64    // bytes of the end
	free int64    // bytes before this offset take no place on the disk any more
}

// slack is about how many bytes a tail may take on the disk beside its end.
const slack = 16 << 20

// newTail returns a tail on the disk of a folder.
func newTail(folder string, most int64) (*tail, error) {
	file, err := os.CreateTemp(folder, "output-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &tail{file: file, most: most}, nil
}

// shorten frees the disk of bytes far from the end, if they are many. All offsets stay, because the process writes on
// at its own. t may be nil.
func (t *tail) shorten() {
	if t == nil {
		return
	}
	info, err := t.file.Stat()
	if err != nil || info.Size()-t.free < slack+t.most {
		return
	}
	const keepSize, punchHole = 1, 2 // FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE
	end := info.Size() - t.most
	if syscall.Fallocate(int(t.file.Fd()), keepSize|punchHole, t.free, end-t.free) != nil {
		_ = t.file.Truncate(0) // on such a disk the next write follows a hole
		end = info.Size()
	}
	t.free = end
}

// text returns the end of the file.
func (t *tail) text() []byte {
	info, err := t.file.Stat()
	if err != nil {
		return nil
	}
	text := make([]byte, min(info.Size(), t.most))
	count, _ := t.file.ReadAt(text, max(0, info.Size()-t.most))
	return bytes.TrimLeft(text[:count], "\x00")
}

// close ends the file. t may be nil.
func (t *tail) close() {
	if t != nil {
		_ = t.file.Close()
	}
}
