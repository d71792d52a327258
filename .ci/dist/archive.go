package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive or of the release.
type file struct {
	Name     string // with slashes
	Mode     fs.FileMode
	Contents []byte
}

// program and text are the modes of files: everybody may run, or read, root may write.
const (
	program fs.FileMode = 0o755
	text    fs.FileMode = 0o644
)

// below returns the files with a folder before their names.
func below(folder string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].Name = path.Join(folder, moved[i].Name)
	}
	return moved
}

// sorted returns the files in the order of their names.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.Name, b.Name) })
}

// tarball returns a tar.gz of the files. With folders it has an entry for each folder above
// them, too, as dpkg wants it.
func tarball(files []file, when time.Time, folders bool) ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	header := tar.Header{Uname: "root", Gname: "root", ModTime: when, Format: tar.FormatUSTAR}
	made := map[string]bool{"./": true}
	for _, f := range sorted(files) {
		if folders {
			for _, folder := range foldersAbove(f.Name) {
				if made[folder] {
					continue
				}
				made[folder] = true
				entry := header
				entry.Name, entry.Typeflag, entry.Mode = folder, tar.TypeDir, int64(program)
				if err := archive.WriteHeader(&entry); err != nil {
					return nil, err
				}
			}
		}
		entry := header
		entry.Name, entry.Typeflag, entry.Mode, entry.Size = f.Name, tar.TypeReg, int64(f.Mode), int64(len(f.Contents))
		if err := archive.WriteHeader(&entry); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.Contents); err != nil {
			return nil, err
		}
	}
	err = errors.Join(archive.Close(), packed.Close())
	return out.Bytes(), err
}

// foldersAbove returns the folders above a name, the outermost first, each with its slash.
func foldersAbove(name string) (folders []string) {
	for i, c := range name {
		if c == '/' {
			folders = append(folders, name[:i+1])
		}
	}
	return folders
}

// zipped returns a zip of the files.
func zipped(files []file, when time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range sorted(files) {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: when.UTC()}
		header.SetMode(f.Mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Contents); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

// gzipped returns a compressed file without a name or a time in it.
func gzipped(contents []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(contents)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}
