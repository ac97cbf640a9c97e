package index

import (
	"strconv"
	"strings"
)

// Limits sets, for tests on small ledgers, the limits that make large ones
// quick: tables for scopes from small versions on, brought up to date when more
// than behind records changed, scopes of them; entries in batches of batch; all
// records looked at when more than change of them changed.
func (x *Index) Limits(small int64, behind, scopes, batch, change int) {
	x.limits = limits{scopes: scopes, change: change, small: small, behind: behind, batch: batch, fill: batch}
}

// Tables counts the tables stored for scopes.
func (x *Index) Tables() (n int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, err = x.d.one("SELECT count(*) - 1 FROM scopes", nil, &n)
	return n, err
}

// Exec runs a statement on the file.
func (x *Index) Exec(q string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.script(q)
}

// Pragma reads a setting of the connection.
func (x *Index) Pragma(name string) (value string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, err = x.d.one("PRAGMA "+name, nil, &value)
	return value, err
}

// Plans tells how SQLite does each statement that was used so far.
func (x *Index) Plans() (map[string][]string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var used []string
	for q := range x.d.stmts {
		if strings.HasPrefix(q, "SELECT") || strings.HasPrefix(q, "UPDATE") {
			used = append(used, q)
		}
	}
	plans := map[string][]string{}
	for _, q := range used {
		args := make([]any, strings.Count(q, "?"))
		for n := 9; n > 0; n-- {
			if strings.Contains(q, "?"+strconv.Itoa(n)) {
				args = args[:n]
				break
			}
		}
		err := x.d.each(func(scan func(...any) error) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			plans[q] = append(plans[q], step)
			return err
		}, "EXPLAIN QUERY PLAN "+q, args...)
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}
