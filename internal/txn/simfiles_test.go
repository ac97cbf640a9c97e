package txn_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

func remove(p string) error {
	if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func removeIfEmpty(dir string) {
	if names, err := os.ReadDir(dir); err == nil && len(names) == 0 {
		os.Remove(dir)
	}
}

func writeFile(p, content string) error {
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p, []byte(content), 0o644)
}
