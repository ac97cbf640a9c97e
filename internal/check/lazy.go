package check

import (
	"regexp"
	"sync"
)

// lazily compiles an expression when it is first asked for: most commands ask for
// none, and all of them together take longer than such a command.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
