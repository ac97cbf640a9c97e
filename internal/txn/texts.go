package txn

import (
	"encoding/json"
	"maps"
	"slices"
)

// Texts calls yield with every field of the request that holds text from
// outside, for the screening. A test holds that no field is forgotten.
func (r *BeginRequest) Texts(yield func(name, text string)) {
	yield("intent", r.Intent)
	yield("replaces", r.Replaces)
	yield("key", r.Key)
	for i := range r.Operations {
		r.Operations[i].texts(at("operations[%d].", i), yield)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Probes)) {
		yield("probes", name)
		for _, a := range r.Probes[name].Argv {
			yield("probes.argv", a)
		}
	}
	for _, d := range r.AllowRoots {
		yield("allow_root", d)
	}
	reportedTexts(r.Reported, yield)
}

func (o *OperationRequest) texts(field string, yield func(name, text string)) {
	yield(field+"label", o.Label)
	yield(field+"kind", o.Kind)
	yield(field+"source", o.Source)
	yield(field+"destination", o.Destination)
	for _, g := range o.Ignore {
		yield(field+"ignore", g)
	}
	for i, p := range o.Postconditions {
		post := at("%spostconditions[%d].", field, i)
		yield(post+"surface", p.Surface)
		for _, k := range slices.Sorted(maps.Keys(p.Expect.Values)) {
			yield(post+"expect", k)
			yield(post+"expect."+k, p.Expect.Values[k])
		}
		for _, n := range slices.Sorted(maps.Keys(p.Expect.Contains)) {
			yield(post+"expect.contains", n)
			yield(post+"expect.contains", p.Expect.Contains[n])
		}
	}
}

// Texts is the same for an observe request.
func (r *ObserveRequest) Texts(yield func(name, text string)) {
	yield("transaction", r.Transaction)
	reportedTexts(r.Reported, yield)
}

// Texts is the same for an attempt request.
func (r *AttemptRequest) Texts(yield func(name, text string)) {
	yield("transaction", r.Transaction)
	reportedTexts(r.Reported, yield)
}

// Texts is the same for a report request.
func (r *ReportRequest) Texts(yield func(name, text string)) {
	yield("transaction", r.Transaction)
	yield("attempt", r.Attempt)
	yield("outcome", r.Outcome)
	yield("detail", r.Detail)
	reportedTexts(r.Reported, yield)
}

func reportedTexts(reported map[string]json.RawMessage, yield func(name, text string)) {
	for _, name := range slices.Sorted(maps.Keys(reported)) {
		yield("reported", name)
		var v any
		if json.Unmarshal(reported[name], &v) != nil {
			yield("reported."+name, string(reported[name]))
			continue
		}
		jsonTexts("reported."+name, v, yield)
	}
}

// jsonTexts yields each name and text of a JSON value; numbers can't hold text.
func jsonTexts(field string, v any, yield func(name, text string)) {
	switch v := v.(type) {
	case string:
		yield(field, v)
	case []any:
		for _, x := range v {
			jsonTexts(field, x, yield)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			yield(field, k)
			jsonTexts(field+"."+k, v[k], yield)
		}
	}
}
