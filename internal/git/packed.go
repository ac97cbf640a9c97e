package git

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
)

const (
	packedLine   = 8 << 10        // no line of packed-refs is longer
	packedWindow = 2 * packedLine // what is read as a whole at the end of a search
)

// parsePacked reads one line of packed-refs, "OID NAME"; ok is false for the
// header, for a peeled id ("^OID") and for anything that isn't git's.
func parsePacked(line []byte) (oid string, name []byte, ok bool) {
	line = bytes.TrimRight(line, "\r\n")
	i := bytes.IndexByte(line, ' ')
	if i != 40 && i != 64 {
		return "", nil, false
	}
	oid = string(line[:i])
	return oid, line[i+1:], validOID(oid)
}

// packedRef looks a name up in a packed-refs file: by halving where the file
// says that it is sorted, else line by line. The header is
// "# pack-refs with: peeled fully-peeled sorted" (git's packed-backend.c).
func packedRef(path, name string) (string, error) {
	f, size, err := openRegular(path, true)
	if absent(err) {
		return "", ErrNoRef
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if size > maxPacked {
		return "", errUnsettled
	}
	lo := int64(0)
	if size > packedWindow {
		head := make([]byte, 512)
		n, err := f.ReadAt(head, 0)
		if err != nil {
			return "", err
		}
		line, _, whole := bytes.Cut(head[:n], []byte("\n"))
		if whole && bytes.HasPrefix(line, []byte("# pack-refs with:")) && bytes.Contains(line, []byte(" sorted")) {
			lo, size, err = narrow(f, name, int64(len(line)+1), size)
			if err != nil {
				return "", err
			}
		}
	}
	oid := ""
	err = eachPacked(io.NewSectionReader(f, lo, size-lo), func(id string, n []byte) bool {
		if string(n) == name {
			oid = id
		}
		return oid == ""
	})
	if err == nil && oid == "" {
		err = ErrNoRef
	}
	return oid, err
}

// narrow halves [lo, hi), both beginnings of lines, until it is small; name is
// inside if it is in the file.
func narrow(f *os.File, name string, lo, hi int64) (int64, int64, error) {
	buf := make([]byte, packedLine)
	for hi-lo > packedWindow {
		mid := lo + (hi-lo)/2
		if _, err := f.ReadAt(buf, mid); err != nil {
			return 0, 0, err
		}
		at, found := nextPacked(buf)
		if found == nil {
			return 0, 0, errUnsettled
		}
		next := mid + int64(at)
		switch strings.Compare(string(found), name) {
		case 0:
			return next, min(next+packedLine, hi), nil
		case -1:
			lo = next
		default:
			if next == hi {
				return 0, 0, errUnsettled
			}
			hi = next
		}
	}
	return lo, hi, nil
}

// nextPacked finds the first whole ref line that begins after buf's first line
// end. The name is nil where there is none.
func nextPacked(buf []byte) (at int, name []byte) {
	for {
		i := bytes.IndexByte(buf[at:], '\n')
		if i < 0 {
			return 0, nil
		}
		at += i + 1
		line, _, whole := bytes.Cut(buf[at:], []byte("\n"))
		if !whole {
			return 0, nil
		}
		if _, name, ok := parsePacked(line); ok {
			return at, name
		}
	}
}

// eachPacked calls visit for every ref in r until it returns false.
func eachPacked(r io.Reader, visit func(oid string, name []byte) bool) error {
	br := bufio.NewReaderSize(r, packedLine)
	for {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return ErrMalformed
		}
		if oid, name, ok := parsePacked(line); ok && !visit(oid, name) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
