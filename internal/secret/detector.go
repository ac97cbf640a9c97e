package secret

import (
	"fmt"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"
)

// detector holds gitleaks' rules. All of them together take 21 MB and 45 ms
// to compile, so each is compiled when a text first needs it; most take less
// than a millisecond and 250 KB.
type detector struct {
	rules  config.ViperConfig
	byID   map[string]int
	mu     sync.Mutex
	loaded map[string]*detect.Detector
}

// loadDetector reads gitleaks' default configuration, without compiling any
// rule. It doesn't go through viper, whose global instance would keep it all.
func loadDetector() (*detector, error) {
	d := &detector{byID: map[string]int{}, loaded: map[string]*detect.Detector{}}
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &d.rules); err != nil {
		return nil, fmt.Errorf("read gitleaks' rules: %w", err)
	}
	for i, r := range d.rules.Rules {
		d.byID[r.ID] = i
	}
	return d, nil
}

// rule returns a gitleaks detector with one rule, and gitleaks' global
// exceptions without those for paths, since our texts have none.
func (d *detector) rule(id string) (*detect.Detector, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.loaded[id]; r != nil {
		return r, nil
	}
	i, ok := d.byID[id]
	if !ok {
		return nil, fmt.Errorf("find rule %s: not among gitleaks' rules", id)
	}
	one := d.rules
	one.Rules = one.Rules[i : i+1 : i+1]
	//lint:ignore SA1019 gitleaks reads its own rules into the older field
	if old := one.AllowList; old != nil {
		a := *old
		a.Paths = nil
		//lint:ignore SA1019 gitleaks reads its own rules into the older field
		one.AllowList, one.Allowlists = &a, nil
	}
	c, err := one.Translate()
	if err != nil {
		return nil, fmt.Errorf("compile rule %s: %w", id, err)
	}
	r := detect.NewDetector(c)
	r.IgnoreGitleaksAllow = true // a comment in the text must not switch a rule off
	d.loaded[id] = r
	return r, nil
}

// detect runs gitleaks' rules that the text can match.
func (p *page) detect() {
	ids := p.needed()
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		found, err := p.sc.screen.run(id, p.s)
		if err != nil {
			// Never let a text pass unscreened: say that the screen is broken.
			p.add("screen-unavailable", rankLook, 0, len(p.s))
			return
		}
		done := map[string]bool{}
		for _, f := range found {
			if !done[f.Secret] && dropped(f) == "" {
				done[f.Secret] = true
				p.locate(f)
			}
		}
	}
}

func (s *Screen) run(id, text string) ([]report.Finding, error) {
	d, err := s.detector()
	if err != nil {
		return nil, err
	}
	r, err := d.rule(id)
	if err != nil {
		return nil, err
	}
	return r.DetectString(text), nil
}

// locate notes every place where the value of gitleaks' finding stands. (Its
// own finding says line and column of the match, not of the value.)
func (p *page) locate(f report.Finding) {
	value := strings.TrimSpace(f.Secret)
	rank := rankVendor
	if f.RuleID == genericRule {
		rank = rankLook
	}
	for i := 0; value != ""; i += len(value) {
		j := strings.Index(p.s[i:], value)
		if j < 0 {
			return
		}
		i += j
		p.add(f.RuleID, rank, i, i+len(value))
	}
}

// need says what a text must hold, beside one of the keywords, for a rule of
// gitleaks to match: a cheap condition that every match fulfils.
type need uint8

const (
	needRun   need = iota // a run of at least n token bytes
	needStart             // such a run that begins with the keyword
	needWord              // the same, and no letter, digit or _ before it
	needPair              // keyword, sign, value (the generic rule's shape)
	needCurl              // curl's option for a header or a user
)

// gitleaksRule is what is known of a rule without compiling it.
type gitleaksRule struct {
	id       string
	keywords []string
	need     need
	n        int
}

const genericRule = "generic-api-key"

// needed returns the ids of the rules that can match the text.
func (p *page) needed() []string {
	anchors, sure := p.anchors, false
	if strings.Contains(p.s, "\u212a") || strings.Contains(p.s, "\u0130") || strings.Contains(p.s, "\u017f") {
		// gitleaks lower-cases the first two to k and i before it looks for
		// keywords, and its expressions take the first and the last for k and s.
		anchors = vocab().matcher.find(strings.ToLower(p.s), nil)
		sure = true
	}
	var ids []string
	seen := map[int16]bool{}
	longest := p.longest()
	curl := sync.OnceValue(func() bool { return curlOption(p.s) })
	for _, a := range anchors {
		for _, ri := range vocab().rules[a.word] {
			r := &gitleaksRules[ri]
			if longest < r.n && r.need != needCurl && !sure || seen[ri] {
				continue
			}
			if sure || r.need == needCurl && curl() || r.need != needCurl && p.fulfils(r, a) {
				seen[ri] = true
				ids = append(ids, r.id)
			}
		}
	}
	return ids
}

// fulfils reports whether the text fulfils the rule's need at a keyword.
func (p *page) fulfils(r *gitleaksRule, a anchor) bool {
	switch r.need {
	case needWord:
		c := byteAt(p.s, int(a.pos)-1)
		return !is(c, cAlnum) && c != '_' && p.runFrom(int(a.pos)) >= r.n
	case needStart:
		return p.runFrom(int(a.pos)) >= r.n
	case needPair:
		return pairAfter(p.s, int(a.pos)+len(vocab().words[a.word]))
	}
	return true // the length was looked at before
}

// runFrom is the number of token bytes from i on.
func (p *page) runFrom(i int) int {
	n := 0
	for i+n < len(p.s) && n < maxValue && class[p.s[i+n]]&cTok != 0 {
		n++
	}
	return n
}

// pairAfter reports whether a sign and a value follow the keyword that ends at
// i as the generic rule wants them. The value must have 12 different
// characters (the rule's entropy of 3.5 bits needs them) and one that is
// neither a letter nor . - _ (else the rule's exceptions drop it).
func pairAfter(s string, i int) bool {
	const gap = 3 * (20 + 3) // bytes of 20 + 3 characters
	for end := min(len(s), i+gap); i < end && strings.IndexByte("=>:|?,", s[i]) < 0; i++ {
		if c := s[i]; !isWord(c) && !is(c, cSpace|cQuote) && c != '.' && c != '-' {
			return false
		}
	}
	for end := min(len(s), i+16); i < end && (strings.IndexByte("=>:|?,", s[i]) >= 0 || is(s[i], cSpace|cQuote)); i++ {
		if distinctValue(s, i+1) {
			return true
		}
	}
	return false
}

// distinctValue reports whether a value at i has 12 different characters.
func distinctValue(s string, i int) bool {
	var low, high uint64
	distinct, mark := 0, false
	for end := i + maxValue; i < len(s) && (class[s[i]]&cTok != 0 && s[i] != '~' && s[i] != '\\'); i++ {
		if i == end {
			return true // let gitleaks look
		}
		c := s[i]
		mark = mark || !is(c, cLetter) && c != '.' && c != '-' && c != '_'
		word, bit := &low, uint64(1)<<(c&63)
		if c&64 != 0 {
			word = &high
		}
		if *word&bit == 0 {
			*word |= bit
			distinct++
		}
		if distinct >= 12 && mark {
			return true
		}
	}
	return false
}

// curlOption reports whether the text has one of the options that the rules
// for curl want.
func curlOption(s string) bool {
	for _, o := range [...]string{"-H", "--header", "-u", "--user"} {
		for i := 0; ; i++ {
			j := strings.Index(s[i:], o)
			if j < 0 {
				break
			}
			if i += j; is(byteAt(s, i-1), cSpace) {
				return true
			}
		}
	}
	return false
}
