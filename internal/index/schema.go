package index

// schemaVersion is raised with every change of the tables or of what they hold;
// a file of another version is made anew. It is PRAGMA user_version, and stands
// in base in every version, so that who has the file open can tell.
const (
	schemaVersion     = 2
	schemaVersionText = "2"
)

// ftsOptions: texts are taken apart much as spans does, and kept elsewhere, as
// are their lengths: ranker does without.
const ftsOptions = "content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'"

// Rows are numbered in the order of the entries: a version's vn grows with its
// revision and, within one entry, against the order of ids, so that "newest
// first, then by id" is "ORDER BY vn DESC". A receipt takes a number too.
//
// Nothing but the primary keys is kept in order while a file is first filled:
// see indexes. place 0 is "no repository". A maker is what entries of one type
// have in common that one client made; maker 0 is nobody. An entry's kind is that
// of its first record or, if it makes no versions, its type. pending are revisions
// that a redact entry names and whose bodies were still in the log.
const schema = `
CREATE TABLE base (one INTEGER PRIMARY KEY, version INTEGER, rev INTEGER, hash TEXT, ledger TEXT, recovery TEXT, last_at TEXT,
	vn INTEGER, marks TEXT, odd INTEGER, filling INTEGER, boot TEXT, flushed INTEGER);
INSERT INTO base VALUES (0, ` + schemaVersionText + `, 0, '', '', '', '', 0, '', 0, 1, '', 0);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE stamps (bucket TEXT PRIMARY KEY, files INTEGER, sum INTEGER, data BLOB);
CREATE TABLE ancestry (n INTEGER PRIMARY KEY, head TEXT UNIQUE, data BLOB);

CREATE TABLE makers (n INTEGER PRIMARY KEY, type TEXT, actor TEXT, seal TEXT, tree TEXT, UNIQUE (type, actor, seal, tree));
INSERT INTO makers VALUES (0, '', '', '', '');
CREATE TABLE places (n INTEGER PRIMARY KEY, branch TEXT, commit_id TEXT, base TEXT, detached INTEGER, last INTEGER,
	UNIQUE (branch, commit_id, base, detached));
INSERT INTO places VALUES (0, '', '', '', 0, -1);

CREATE TABLE entries (rev INTEGER PRIMARY KEY, hash BLOB, flags INTEGER, at TEXT, place INTEGER, maker INTEGER,
	key BLOB, request BLOB, vn INTEGER, n INTEGER, kind TEXT, text_vn INTEGER, text TEXT, ids TEXT);
CREATE TABLE versions (vn INTEGER PRIMARY KEY, id TEXT, rev INTEGER, place INTEGER, at TEXT, kind TEXT, status TEXT, flags INTEGER,
	content INTEGER, content_rev INTEGER, replaces INTEGER, settles TEXT, reason TEXT, sup TEXT, rec TEXT);
CREATE TABLE receipts (vn INTEGER PRIMARY KEY, rev INTEGER, place INTEGER, id TEXT, rec TEXT);
CREATE VIRTUAL TABLE fts USING fts5(text, ` + ftsOptions + `);
INSERT INTO fts (fts, rank) VALUES ('hashsize', 8000000);

CREATE TABLE confirms (id TEXT, rev INTEGER, by INTEGER, PRIMARY KEY (id, rev, by)) WITHOUT ROWID;
CREATE TABLE carries (rev INTEGER PRIMARY KEY, place INTEGER, branches TEXT);
CREATE TABLE allows (rev INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE newer (rev INTEGER PRIMARY KEY);
CREATE TABLE pending (rev INTEGER PRIMARY KEY);

CREATE TABLE scopes (sid INTEGER PRIMARY KEY, upto INTEGER, places INTEGER, digest TEXT, used INTEGER);
INSERT INTO scopes VALUES (0, -1, 0, '', 0);
CREATE TABLE current (sid INTEGER, id TEXT, vn INTEGER, rev INTEGER, content INTEGER, state INTEGER, kind TEXT, doubt INTEGER, at TEXT, sup TEXT,
	PRIMARY KEY (sid, id)) WITHOUT ROWID;
CREATE TABLE counts (sid INTEGER, state INTEGER, kind TEXT, n INTEGER, PRIMARY KEY (sid, state, kind)) WITHOUT ROWID;
`

// indexes are made when a file has been filled: sorting once is several times
// as quick as keeping order all along.
const (
	firstIndex = `CREATE INDEX versions_id ON versions (id, vn DESC)`

	indexes = `
CREATE INDEX entries_key ON entries (key) WHERE key IS NOT NULL;
CREATE INDEX entries_type ON entries (kind, rev) WHERE n = 0;
CREATE INDEX receipts_id ON receipts (id, vn);
CREATE INDEX current_list ON current (sid, state, kind, doubt, vn DESC);
CREATE INDEX current_content ON current (sid, content, state);
CREATE INDEX current_at ON current (sid, kind, at, doubt, vn) WHERE state = 1;
CREATE INDEX current_sup ON current (sid, sup) WHERE sup <> '';
`
)

// Flags of an entry.
const (
	entryErased   = 1 << iota // its body was erased
	entryDoubtful             // its time contradicts the order, or can't be read
	entryNewer                // of a newer format
	entryVoid
	entryStands // a recovery doesn't take it back
)

// Flags of a version.
const (
	versionRetracted = 1 << iota
	versionRedacted
	versionPerson // a person wrote its text
)

// The ways in which a record can stand.
const (
	stateOpen      = iota
	stateFinished  // done or dropped
	stateRetracted // whatever else it is
	stateHidden    // superseded, or open with its text erased
	stateElsewhere // no version in force; kind is the newest version's branch
)
