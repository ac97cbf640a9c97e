package txn

import "strings"

// Set is a mismatch set: for each item of a transaction, in the model's order,
// a digit: 0 for one that holds, else its severity 1 to 3, or ? for one that
// could not be read. Sets with a ? are never compared.
type Set string

const (
	met      = '0'
	wrong    = '1' // there, with the wrong content, mode, type or target
	misplace = '2' // absent where it must be present, or the other way round
	lost     = '3' // content that was there before is lost
	unread   = '?'
)

// empty reports whether everything holds.
func (s Set) empty() bool { return strings.Trim(string(s), string(met)) == "" }

// count is how many items are unmet. It says nothing about progress.
func (s Set) count() int { return len(s) - strings.Count(string(s), string(met)) }

// below reports whether s is below m: nothing in s is new or graver than in m,
// and something of m is gone or graver there. A count says nothing.
func (s Set) below(m Set) bool {
	return !s.graver(m) && s != m
}

// graver reports whether an item of s is new or graver than in m.
func (s Set) graver(m Set) bool {
	if len(s) != len(m) {
		return true
	}
	for i := range len(s) {
		if s[i] > m[i] {
			return true
		}
	}
	return false
}

// least is the smaller severity of each item of s and m.
func (s Set) least(m Set) Set {
	if len(s) != len(m) {
		return s
	}
	b := []byte(s)
	for i := range b {
		b[i] = min(b[i], m[i])
	}
	return Set(b)
}

// view is what looks mean for a transaction.
type view struct {
	set      Set
	digests  []string // by want: the parts of the state digest
	contents []string // by unit
	files    []string // by want: how many files a whole folder holds
	unknown  []int    // wants that could not be read
	state    string   // the state digest; empty while something is unknown
}

// view judges looks. base holds the units' contents when the transaction began;
// nil for the first look, which is its own base.
func (m *model) view(seen Looks, base []string) view {
	v := view{digests: make([]string, len(m.wants)), contents: make([]string, len(m.units)), files: make([]string, len(m.wants))}
	looks := make([]Look, len(m.wants))
	for i := range m.wants {
		w := &m.wants[i]
		looks[i] = seen.at(w)
		v.digests[i], v.files[i] = looks[i].digest(w), looks[i].Facts["files"]
		if v.digests[i] == contentUnknown {
			v.unknown = append(v.unknown, i)
		}
	}
	for i, u := range m.units {
		v.contents[i] = looks[u.want].content(&m.wants[u.want], u.name)
	}
	if len(base) != len(m.units) {
		base = v.contents
	}
	set := make([]byte, len(m.items))
	for i := range m.items {
		set[i] = m.severity(&m.items[i], &looks[m.items[i].want], v.contents, base)
	}
	m.markLost(set, v.contents, base)
	v.set = Set(set)
	if len(v.unknown) == 0 {
		v.state = m.stateDigest(v.digests)
	}
	return v
}

func (m *model) stateDigest(digests []string) string {
	parts := make([]string, 0, 2*len(digests))
	for i, d := range digests {
		parts = append(parts, m.wants[i].Key, d)
	}
	return digest(parts...)
}

// severity judges one item.
func (m *model) severity(it *item, l *Look, now, base []string) byte {
	content := now[it.unit]
	switch {
	case content == contentUnknown:
		return unread
	case it.holds(l):
		return met
	case it.key == "state" && it.value == stateAbsent:
		return misplace
	case content == "":
		if held(base[it.unit]) {
			return lost
		}
		return misplace
	case it.replaceable() && held(base[it.unit]) && base[it.unit] != content:
		return lost
	}
	return wrong
}

// held reports whether a unit held something that can be lost.
func held(content string) bool { return content != "" && content != contentUnknown }

// replaceable reports whether a wrong value of the item means that content was
// replaced. Permission bits are no content, a record keeps its history, and a
// folder's digest can't tell a lost file from a new one.
func (it *item) replaceable() bool {
	switch it.key {
	case "mode", "tree", "revision", "status", "exit":
		return false
	}
	return it.family != "probe" && it.family != "record"
}

// holds reports whether the item holds in l, which is not unknown.
func (it *item) holds(l *Look) bool {
	if it.key == "state" && it.value == stateAbsent {
		return l.State == stateAbsent
	}
	if l.State != statePresent {
		return false
	}
	facts := l.Facts
	if it.key == keyContains {
		if facts["type"] != "dir" {
			return false
		}
		facts = l.Names[it.name]
	}
	if it.typ != "" && facts["type"] != it.typ {
		return false
	}
	switch it.key {
	case "state":
		return true
	case keyContains:
		return facts["sha256"] == it.value
	}
	v, ok := facts[it.key]
	return ok && v == it.value
}

// markLost raises what a move was to bring and what is now at neither end: the
// destination's severity alone would not say that the source's content is gone.
func (m *model) markLost(set []byte, now, base []string) {
	for i := range m.ops {
		op := &m.ops[i]
		if !op.moves || op.src < 0 || op.dst < 0 || !held(base[op.src]) || base[op.src] == now[op.src] {
			continue
		}
		if now[op.src] == contentUnknown || now[op.dst] == contentUnknown || now[op.dst] == base[op.src] {
			continue
		}
		for _, j := range op.items {
			it := &m.items[j]
			if it.unit == op.dst && (set[j] == misplace || set[j] == wrong) && it.key != "mode" && it.value != stateAbsent {
				set[j] = lost
			}
		}
	}
}

// holdsAll reports whether everything that operation op wants holds.
func (m *model) holdsAll(op int, s Set) bool {
	for _, i := range m.ops[op].items {
		if s[i] != met {
			return false
		}
	}
	return true
}
