package index

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// database is one connection with its prepared statements. It is not safe for
// concurrent use. Contexts are watched between statements, not inside them:
// the driver would start a goroutine for each.
type database struct {
	pool  *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	open  bool // a transaction is
}

// Times are in milliseconds. A reader may meet a commit, which takes a few; a
// writer that meets another one folds in memory instead of waiting.
const (
	readWait  = 1000
	writeWait = 30
)

// Page cache in KiB: small between calls, larger while a file is first filled.
const (
	cacheSmall = 2000
	cacheLarge = 32000
)

var pragmas = []string{
	fmt.Sprintf("busy_timeout(%d)", readWait),
	"trusted_schema(0)", "cell_size_check(1)", "mmap_size(0)", "temp_store(2)", "synchronous(0)",
	fmt.Sprintf("cache_size(-%d)", cacheSmall),
	// A spilled page would lock readers out until the transaction ends.
	"cache_spill(0)",
}

// open opens a file, or memory for an empty path.
//
// On Linux its locks are bound to the open file: the older kind is lost as soon
// as anything in this process opens and closes the file, such as doctor, or
// another index that finds the file just made. The switch is the driver's, for
// the whole process, and an error means that there is only the older kind.
func open(ctx context.Context, path string, readOnly bool) (*database, error) {
	q := url.Values{"_pragma": pragmas}
	if readOnly {
		q.Set("mode", "ro")
	} else {
		q["_pragma"] = append([]string{"journal_mode(TRUNCATE)"}, pragmas...)
	}
	_, _ = sqlite.OFDLocking(true)
	pool, err := sql.Open("sqlite", fileURI(path)+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(context.WithoutCancel(ctx))
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &database{pool: pool, conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// fileURI writes a path as https://sqlite.org/uri.html has it.
func fileURI(path string) string {
	if path == "" {
		return "file::memory:"
	}
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") { // C:/…
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// close ends a transaction that is open: SQLite would keep its locks, and the
// connection, as long as a statement lives.
func (d *database) close() error {
	if d.open {
		_ = d.exec("ROLLBACK")
	}
	for _, s := range d.stmts {
		_ = s.Close()
	}
	err := d.conn.Close()
	if perr := d.pool.Close(); err == nil {
		err = perr
	}
	return err
}

func (d *database) prepare(q string) (*sql.Stmt, error) {
	if s := d.stmts[q]; s != nil {
		return s, nil
	}
	s, err := d.conn.PrepareContext(context.Background(), q)
	if err == nil {
		d.stmts[q] = s
	}
	return s, err
}

func (d *database) exec(q string, args ...any) error {
	s, err := d.prepare(q)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(context.Background(), args...)
	return err
}

// script runs statements that need no arguments and are not kept.
func (d *database) script(q string) error {
	_, err := d.conn.ExecContext(context.Background(), q)
	return err
}

// each calls row for every row of the answer.
func (d *database) each(row func(scan func(...any) error) error, q string, args ...any) error {
	s, err := d.prepare(q)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan := func(dest ...any) error {
		if err := rows.Scan(dest...); err != nil {
			return fmt.Errorf("%w: %w", errContent, err)
		}
		return nil
	}
	for rows.Next() {
		if err := row(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// one scans the only row of the answer, and reports whether there is one.
func (d *database) one(q string, args []any, dest ...any) (bool, error) {
	found := false
	err := d.each(func(scan func(...any) error) error { found = true; return scan(dest...) }, q, args...)
	return found, err
}

// inTx runs fn in a transaction that begin starts. Anything fn did is undone
// when it fails.
func (d *database) inTx(begin string, fn func() error) error {
	if err := d.exec(begin); err != nil {
		return err
	}
	d.open = true
	err := fn()
	if err == nil {
		err = d.exec("COMMIT")
	}
	if err != nil {
		// SQLite may have rolled back by itself; then this fails, harmlessly.
		_ = d.exec("ROLLBACK")
	}
	d.open = false
	return err
}

// rowsAtOnce is how many rows one INSERT carries: half the time of single ones.
const rowsAtOnce = 100

// inserter gathers rows for one table and writes them in bulk.
type inserter struct {
	d         *database
	head, row string
	cols      int
	args      []any
}

func newInserter(d *database, into string, cols int) *inserter {
	return &inserter{d: d, head: "INSERT INTO " + into + " VALUES ", row: "(?" + strings.Repeat(",?", cols-1) + ")", cols: cols}
}

func (i *inserter) add(args ...any) error {
	i.args = append(i.args, args...)
	if len(i.args) < rowsAtOnce*i.cols {
		return nil
	}
	err := i.d.exec(i.head+i.row+strings.Repeat(","+i.row, rowsAtOnce-1), i.args...)
	i.args = i.args[:0]
	return err
}

func (i *inserter) flush() error {
	for a := i.args; len(a) > 0; a = a[i.cols:] {
		if err := i.d.exec(i.head+i.row, a[:i.cols]...); err != nil {
			return err
		}
	}
	i.args = i.args[:0]
	return nil
}

// packHex halves lower-case hex of 32 bytes; anything else stays as it is.
// SQLite tells the two apart by their type.
func packHex(s string) any {
	if len(s) != 64 {
		return s
	}
	b := make([]byte, 32)
	for i := range b {
		hi, lo := nibble(s[2*i]), nibble(s[2*i+1])
		if hi > 15 || lo > 15 {
			return s
		}
		b[i] = hi<<4 | lo
	}
	return b
}

func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

func unpackHex(v any) string {
	switch v := v.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case string:
		return v
	}
	return ""
}
