//go:build unix

package git

import (
	"os"
	"strconv"
	"syscall"
)

// ownerIsCheap: comparing owners takes no process, so Find does it at once.
const ownerIsCheap = true

// ownedByUs reports that each path belongs to the effective user or, under
// sudo, to the user who called it (git's ensure_valid_ownership). "" is passed over.
func ownedByUs(env Env, paths ...string) bool {
	uid := uint32(os.Geteuid())
	sudo, err := strconv.ParseUint(lookup(env.Vars, "SUDO_UID"), 10, 32)
	asSudo := err == nil && uid == 0
	for _, p := range paths {
		if p == "" {
			continue
		}
		fi, err := os.Lstat(p)
		if err != nil {
			return false
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != uid && (!asSudo || st.Uid != uint32(sudo)) {
			return false
		}
	}
	return true
}
