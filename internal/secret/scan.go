package secret

// scan is one screening of one text.
type scan struct {
	screen *Screen
	hits   []hit
}

// maxDepth is how many disguises may lie over each other.
const maxDepth = 4

// page is one view while the rules look at it.
type page struct {
	sc      *scan
	v       *view
	s       string // v.text
	anchors []anchor
	runs    []run
	names   []name
}

// run is a stretch of token bytes.
type run struct{ start, end int }

// add notes a finding of the view.
func (p *page) add(rule string, rank, start, end int) {
	start, end = trimSpan(p.s, start, end)
	if start >= end {
		return
	}
	from, to, form := p.v.origin(start, end)
	p.sc.hits = append(p.sc.hits, hit{rule: rule, rank: rank, start: from, end: to, form: form, value: p.s[start:end]})
}

// trimSpan takes white space off both ends of a range.
func trimSpan(s string, start, end int) (int, int) {
	for start < end && is(s[start], cSpace) {
		start++
	}
	for end > start && is(s[end-1], cSpace) {
		end--
	}
	return start, end
}

// view runs every rule over a view, and over the views that lie under it.
func (sc *scan) view(v *view, depth int) {
	p := &page{sc: sc, v: v, s: v.text}
	p.anchors = vocab().matcher.find(p.s, make([]anchor, 0, 64))
	p.findRuns()
	p.findNames()

	p.vendorTokens()
	p.keyBlocks()
	p.links()
	p.headers()
	p.assignments()
	p.neighbours()
	p.bareTokens()
	p.detect()

	if depth >= maxDepth {
		return
	}
	if plain := plainView(v); plain != nil {
		sc.view(plain, depth+1)
	} else {
		p.splitTokens()
	}
	for _, c := range p.decoded() {
		sc.view(c, depth+1)
	}
}

// minRun is the length from which a stretch of token bytes is worth a look.
const minRun = 12

// findRuns finds the stretches of token bytes.
func (p *page) findRuns() {
	start := 0
	for i := 0; i <= len(p.s); i++ {
		if i < len(p.s) && class[p.s[i]]&cTok != 0 {
			continue
		}
		if i-start >= minRun {
			p.runs = append(p.runs, run{start, i})
		}
		start = i + 1
	}
}

// longest is the length of the longest run.
func (p *page) longest() int {
	n := 0
	for _, r := range p.runs {
		n = max(n, r.end-r.start)
	}
	return n
}

// addForm is add for a rule that took the disguise off itself.
func (p *page) addForm(rule string, rank, start, end int, form string) {
	n := len(p.sc.hits)
	p.add(rule, rank, start, end)
	if len(p.sc.hits) > n && p.sc.hits[n].form == "" {
		p.sc.hits[n].form = form
	}
}
