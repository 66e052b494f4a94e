// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// overlaid is a file system of which some files are replaced, or added.
type overlaid struct {
	base  fs.FS
	files map[string][]byte
}

// Open returns the replaced or added file, else the one of the base.
func (o overlaid) Open(name string) (fs.File, error) {
	content, ok := o.files[name]
	if !ok {
		return o.base.Open(name)
	}
	return &memoryFile{Reader: bytes.NewReader(content), info: memoryInfo{name: path.Base(name), size: int64(len(content))}}, nil
}

// ReadDir returns the entries of the base and those of added files and of the
// directories they lie in, sorted by name.
func (o overlaid) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.base, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for file, content := range o.files {
		rest, inside := strings.CutPrefix(file, name+"/")
		if name == "." {
			rest, inside = file, true
		}
		if !inside {
			continue
		}
		child, _, deeper := strings.Cut(rest, "/")
		info := memoryInfo{name: child, size: int64(len(content)), dir: deeper}
		if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == child }) {
			entries = append(entries, fs.FileInfoToDirEntry(info))
		}
	}
	if len(entries) == 0 && err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// memoryFile is an open file.
type memoryFile struct {
	*bytes.Reader
	info memoryInfo
}

// Stat describes the file.
func (f *memoryFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close has nothing to release.
func (*memoryFile) Close() error { return nil }

// memoryInfo describes a file or directory that is in memory only.
type memoryInfo struct {
	name string
	size int64
	dir  bool
}

func (i memoryInfo) Name() string     { return i.name }
func (i memoryInfo) Size() int64      { return i.size }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (i memoryInfo) IsDir() bool      { return i.dir }
func (memoryInfo) Sys() any           { return nil }
func (i memoryInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
