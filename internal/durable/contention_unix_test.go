//go:build unix

package durable

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// childSave does what args[1] saves ask of this layer, in the folder args[0],
// under its lock with the product's limit of 5 s, and prints its longest wait
// in microseconds. Head-finding is a shared number, so that a lock that let
// two in would lose one.
func childSave(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var longest time.Duration
	for range n {
		waited, err := saveOnce(args[0])
		if err != nil {
			return err
		}
		longest = max(longest, waited)
	}
	fmt.Println(longest.Microseconds())
	return nil
}

func saveOnce(path string) (waited time.Duration, err error) {
	d, err := (*Layer)(nil).OpenDir(path)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	start := time.Now()
	k, err := d.Lock(bg, "lock", 5*time.Second, fmt.Sprintf("pid %d\n", os.Getpid()))
	if err != nil {
		return 0, err
	}
	defer k.Unlock()
	waited = time.Since(start)
	tmp, err := d.Sub("tmp")
	if err != nil {
		return 0, err
	}
	defer tmp.Close()
	data, err := os.ReadFile(d.join("number"))
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return 0, err
	}
	if _, err := d.Publish(tmp, fmt.Sprintf("%08d", n+1), benchData, 0o400); err != nil {
		return 0, err
	}
	if err := os.WriteFile(d.join("number"), []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		return 0, err
	}
	return waited, d.Append("mirror", benchData, 0o600)
}

// savers runs that many processes of that many saves each.
func savers(b testing.TB, procs, each int) (total, longest time.Duration) {
	dir := b.TempDir()
	check(b, os.Mkdir(dir+"/tmp", 0o700))
	put(b, dir+"/number", "0")
	var wg sync.WaitGroup
	var mu sync.Mutex
	start := time.Now()
	for range procs {
		wg.Go(func() {
			out, err := child(b, "save", dir, strconv.Itoa(each)).Output()
			us, _ := strconv.Atoi(strings.TrimSpace(string(out)))
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, time.Duration(us)*time.Microsecond)
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	total = time.Since(start)
	wantFile(b, dir+"/number", strconv.Itoa(procs*each))
	return total, longest
}

// 8 processes of 200 saves each against one that does all 1,600.
func BenchmarkEightSavers(b *testing.B) {
	for b.Loop() {
		one, _ := savers(b, 1, 1600)
		eight, longest := savers(b, 8, 200)
		b.ReportMetric(float64(eight)/float64(one), "x-one-process")
		b.ReportMetric(longest.Seconds()*1000, "ms-longest-wait")
	}
}

func TestSaversInManyProcesses(t *testing.T) {
	_, longest := savers(t, 8, 25)
	t.Logf("longest wait for the lock: %v", longest)
}
