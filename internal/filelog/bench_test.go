package filelog

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkBare makes the same system calls as a save and nothing else: the
// measure that BenchmarkSave is held against.
func BenchmarkBare(b *testing.B) {
	dir := b.TempDir()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, "rev"), 0o700))
	must(os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
	line := make([]byte, 700)
	for i := 0; b.Loop(); i++ {
		tmp, final := filepath.Join(dir, "tmp", "x"), filepath.Join(dir, "rev", fmt.Sprintf("%08d.json", i))
		f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400)
		must(err)
		_, err = f.Write(line)
		must(err)
		must(f.Sync())
		must(f.Close())
		must(os.Link(tmp, final))
		must(os.Remove(tmp))
		d, err := os.Open(filepath.Join(dir, "rev"))
		must(err)
		must(d.Sync())
		must(d.Close())
		m, err := os.OpenFile(filepath.Join(dir, "mirror"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		must(err)
		_, err = m.Write(line)
		must(err)
		must(m.Sync())
		must(m.Close())
	}
}
