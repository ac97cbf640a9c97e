package surface

import (
	"testing"
	"time"
)

func cpuTime(testing.TB) time.Duration { return 0 }
