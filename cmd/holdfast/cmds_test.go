package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// exitsCmd runs a command that must end with the given exit status: exits N
// program arg...
func exitsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exits STATUS program [arg...]")
	}
	status := "0"
	err := ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		status = fmt.Sprint(e.ExitCode())
	} else {
		ts.Check(err)
	}
	if status != args[0] {
		ts.Fatalf("exit status %s, want %s", status, args[0])
	}
}

// jsonCmd checks one field of a JSON answer: json FILE path.to.0.field value.
// Without a value the field must be absent. The answer must be one object.
func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	var v any
	ts.Check(d.Decode(&v))
	if d.More() {
		ts.Fatalf("more than one JSON value")
	}
	got, there := lookUp(v, strings.Split(args[1], "."))
	same := there && len(args) == 3 && fmt.Sprint(got) == args[2] || !there && len(args) == 2
	if same == neg {
		ts.Fatalf("%s is %v (there: %v), want %v", args[1], got, there, args[2:])
	}
}

// keepCmd keeps a field of a JSON answer, or its first characters, in an environment
// variable: keep NAME FILE path.to.field [LENGTH].
func keepCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || len(args) > 4 || neg {
		ts.Fatalf("usage: keep NAME FILE PATH [LENGTH]")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &v))
	got, there := lookUp(v, strings.Split(args[2], "."))
	if !there {
		ts.Fatalf("no %s", args[2])
	}
	text := fmt.Sprint(got)
	if len(args) == 4 {
		n, err := strconv.Atoi(args[3])
		ts.Check(err)
		text = text[:n]
	}
	ts.Setenv(args[0], text)
}

func lookUp(v any, path []string) (any, bool) {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[name]; !ok {
				return nil, false
			}
		case []any:
			var i int
			if name == "len" {
				return len(x), true
			}
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// sameCmd checks that a folder's files are byte for byte what they were: same
// DIR NAME remembers them under a name the first time and compares from then on.
func sameCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same DIR NAME")
	}
	got := listing(ts, ts.MkAbs(args[0]))
	memory := filepath.Join(filepath.Dir(ts.Getenv("WORK")), filepath.Base(ts.Getenv("WORK"))+"."+args[1]+".same")
	want, err := os.ReadFile(memory)
	if os.IsNotExist(err) {
		ts.Check(os.WriteFile(memory, got, 0o600))
		ts.Defer(func() { os.Remove(memory) })
		return
	}
	ts.Check(err)
	if bytes.Equal(got, want) == neg {
		ts.Fatalf("was:\n%s\nis:\n%s", want, got)
	}
}

func listing(ts *testscript.TestScript, dir string) []byte {
	var b bytes.Buffer
	ts.Check(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(path, dir), info.Mode())
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", data)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.Bytes()
}

// absentCmd checks that no file below DIR, and no file's name, holds TEXT:
// absent DIR TEXT.
func absentCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: absent DIR TEXT")
	}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(data, []byte(args[1])) || strings.Contains(path, args[1]) {
			ts.Fatalf("%s holds it", path)
		}
		return nil
	}))
}
