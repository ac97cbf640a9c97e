package index

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Facts and stamps are written as lines, since thousands are read at each start:
// "+" before a commit that is an ancestor and "-" before another; size, times
// and inode before a file's name, which has no line break.

func writeFacts(facts map[string]bool) string {
	var b strings.Builder
	for commit, is := range facts {
		if is {
			b.WriteByte('+')
		} else {
			b.WriteByte('-')
		}
		b.WriteString(commit)
		b.WriteByte('\n')
	}
	return b.String()
}

func readFacts(s string) (map[string]bool, error) {
	facts := make(map[string]bool, strings.Count(s, "\n"))
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] != '+' && line[0] != '-' {
			return nil, errContent
		}
		facts[line[1:]] = line[0] == '+'
	}
	return facts, nil
}

func writeStamps(m map[string]Stamp) string {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(m)) {
		s := m[name]
		for _, n := range []int64{s.Size, s.MtimeNS, s.CtimeNS} {
			b = append(strconv.AppendInt(b, n, 10), ' ')
		}
		b = append(strconv.AppendUint(b, s.Inode, 10), ' ')
		b = append(append(b, name...), '\n')
	}
	return string(b)
}

func readStamps(data string, into map[string]Stamp) error {
	for line := range strings.Lines(data) {
		var s Stamp
		var err error
		rest := strings.TrimSuffix(line, "\n")
		next := func() (n uint64) {
			field, after, ok := strings.Cut(rest, " ")
			rest = after
			v, perr := strconv.ParseInt(field, 10, 64)
			if n = uint64(v); perr != nil {
				n, perr = strconv.ParseUint(field, 10, 64)
			}
			if !ok || perr != nil {
				err = errContent
			}
			return n
		}
		s.Size, s.MtimeNS, s.CtimeNS, s.Inode = int64(next()), int64(next()), int64(next()), next()
		if err != nil {
			return err
		}
		into[rest] = s
	}
	return nil
}
