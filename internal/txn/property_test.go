package txn_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"pgregory.net/rapid"

	"holdfast/internal/txn"
)

var (
	simRuns   = flag.Int("txn.runs", 400, "random worlds in TestSimulation")
	simSeed   = flag.Uint64("txn.seed", 1, "first seed of TestSimulation")
	faultRuns = flag.Int("txn.faultruns", 6000, "random worlds in which TestMutations looks for one switched-off rule")
)

const simSteps = 60

// TestSimulation runs random worlds and agents and holds the engine to the
// promises of the specification, from outside. In full:
//
//	go test ./internal/txn -run TestSimulation -txn.runs=20000
func TestSimulation(t *testing.T) {
	total := map[string]int{}
	for i := range *simRuns {
		seed := *simSeed + uint64(i)
		s := seeded(t, seed, txn.Engine{}, false)
		if fault := s.run(simSteps); fault != "" {
			t.Fatalf("seed %d: %s", seed, fault)
		}
		for k, n := range s.ck.stats {
			total[k] += n
		}
	}
	for _, k := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%8d %s", total[k], k)
	}
	for _, must := range []string{
		"granted initial", "granted recovery", "now complete", "now complete_reported", "now blocked", "now abandoned", "reopened", "replaced",
		"begin overlaps_blocked", "attempt ok attempt_in_flight", "attempt ok already_satisfied", "attempt ok unknown_state", "attempt ok observation_needed",
		"attempt ok oscillated", "attempt ok fingerprint_spent", "attempt ok budget_spent", "attempt ok destructive", "attempt ok nothing_to_mutate", "attempt ok blocked",
		"closed interrupted", "closed succeeded",
	} {
		if total[must] == 0 && *simRuns >= 400 {
			t.Errorf("the worlds never came to %q: they prove nothing about it", must)
		}
	}
}

func seeded(tb testing.TB, seed uint64, eng txn.Engine, onDisk bool) *sim {
	r := rand.New(rand.NewPCG(seed, 7))
	return newSim(tb, r.IntN, eng, onDisk)
}

// TestSimulationShrinks is the same through rapid, which shrinks what it finds.
func TestSimulationShrinks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") }
		if fault := newSim(t, pick, txn.Engine{}, false).run(simSteps / 2); fault != "" {
			rt.Fatal(fault)
		}
	})
}

// TestSimulationOnDisk is the same over real folders, with the looks of
// package surface.
func TestSimulationOnDisk(t *testing.T) {
	for i := range max(8, *simRuns/100) {
		if fault := seeded(t, uint64(i)+1000, txn.Engine{}, true).run(simSteps / 2); fault != "" {
			t.Fatalf("seed %d: %s", i+1000, fault)
		}
	}
}

// TestMutations switches the rules off one by one: each time the simulation
// must find a broken promise, else it proves nothing about that rule.
func TestMutations(t *testing.T) {
	if len(txn.Rules) != txn.AllRules() {
		t.Fatalf("%d rules are listed, the engine has %d", len(txn.Rules), txn.AllRules())
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "rule switched off\tworlds\tbroken promise")
	for _, rule := range txn.Rules {
		found := ""
		for i := range *faultRuns {
			if fault := seeded(t, uint64(i)+1, txn.Engine{}.Without(rule), false).run(simSteps); fault != "" {
				found = fmt.Sprintf("%d\t%s", i+1, fault)
				break
			}
		}
		if found == "" {
			t.Errorf("nothing noticed that this rule was off: %s", rule.Name)
			found = fmt.Sprintf("%d\tNONE", *faultRuns)
		}
		fmt.Fprintf(w, "%s\t%s\n", rule.Name, found)
	}
	w.Flush()
	t.Logf("\n%s", out.String())
}
