package git

// ownerIsCheap: only git knows, and it is asked when it is first needed.
const ownerIsCheap = false

// ownedByUs settles nothing on Windows: git is asked before the first call.
func ownedByUs(Env, ...string) bool { return false }
