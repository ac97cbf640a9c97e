// Package index keeps what a ledger's entries mean in an SQLite file, so that
// asking costs the same whether the ledger holds a thousand entries or a
// million: positions, current state, lineage and full-text search.
//
// It is a cache and no source of anything. It answers as ledger.State does;
// that is tested against random histories. A file that is damaged, of another
// version or of another ledger is emptied and filled anew; one that can't be
// written is read, and the entries behind it are folded in memory; without any
// there is one in memory. So it must never make a save or a reading fail, wait
// for another process that writes the file, or be believed where the ledger
// says otherwise. The file never lies in a project.
//
// It must never be a WAL database (its files break when copied or shared
// between kernels), and nothing outside this package may know that it is SQLite.
package index
