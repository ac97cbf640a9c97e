package secret

import (
	"strings"
	"sync"
)

// Uses of an anchor word: which rules want to know where it stands.
const (
	useKeyword   = 1 << iota // a keyword of gitleaks' rules
	useNoun                  // part of a name of a secret
	useIdeograph             // a noun in a script without spaces
	useVendor                // begins a vendor's token
	useLink                  // "://"
	useBegin                 // "-----begin", "---- begin", PuTTY
	useScheme                // bearer, basic: a credential follows
	useCookie                // cookie:
	useUser                  // -u, --user, identified by
	useCommand               // a command that takes a password
	useShort                 // a noun so short that it counts only as a whole word
)

// nounAnchors occur in every name that classify knows.
const nounAnchors = `token secret key cookie cred jwt bearer authorization otp auth pass pwd pw psw pswd pword
	passwort kennwort contrase clave senha wachtwoord haslo hasło lösenord losenord adgangskode salasana
	parola parole heslo jelsz пароль ПАРОЛЬ Пароль пароля geheimnis jeton segredo login mnemonic seedphrase`

// vocabulary is what the words that are looked for are good for. It never changes
// once it is made.
type vocabulary struct {
	words   []string  // each once
	uses    []uint16  // of the word at the same place
	rules   [][]int16 // gitleaks' rules with that word as a keyword
	vendors map[string][]vendor
	matcher *matcher
}

// vocab makes the vocabulary when a text is first screened: a command that saves
// nothing does without.
var vocab = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{vendors: map[string][]vendor{}}
	v.words, v.uses = anchorList()
	v.matcher = newMatcher(v.words)
	at := map[string]int{}
	for i, w := range v.words {
		at[w] = i
	}
	v.rules = make([][]int16, len(v.words))
	for i, r := range gitleaksRules {
		for _, k := range r.keywords {
			v.rules[at[k]] = append(v.rules[at[k]], int16(i))
		}
	}
	for _, x := range vendors {
		w := strings.ToLower(x.prefix)
		v.vendors[w] = append(v.vendors[w], x)
	}
	return v
})

// anchorList lists all words that are looked for, and what each is good for.
func anchorList() (words []string, uses []uint16) {
	at := map[string]int{}
	add := func(use uint16, list ...string) {
		for _, w := range list {
			if _, ok := at[w]; !ok {
				at[w] = len(words)
				words, uses = append(words, w), append(uses, 0)
			}
			uses[at[w]] |= use
		}
	}
	for _, r := range gitleaksRules {
		add(useKeyword, r.keywords...)
	}
	add(useNoun, strings.Fields(nounAnchors)...)
	add(useNoun|useIdeograph, "密码", "密碼", "口令", "令牌", "密钥", "パスワード", "暗証番号", "비밀번호", "암호")
	add(useNoun, "recovery code", "backup code", "unlock code", "activation code", "pairing code", "invite code", "totp seed", "otp seed",
		"mot de passe", "seed phrase", "recovery phrase", "backup phrase", "wallet seed", "secret phrase")
	add(useNoun|useShort, "pat", "tok", "sas")
	for _, v := range vendors {
		add(useVendor, strings.ToLower(v.prefix))
	}
	add(useLink, "://")
	add(useBegin, "-----begin", "---- begin", "putty-user-key-file")
	add(useScheme, "bearer", "basic")
	add(useCookie, "cookie:")
	for w := range commandFlags {
		add(useCommand, w)
	}
	add(useUser, "-u", "--user", "identified by")
	return words, uses
}
