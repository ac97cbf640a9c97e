package secret

import "strings"

// kind is what a name in front of a value promises.
type kind uint8

const (
	kindNone     kind = iota
	kindToken         // drawn by lot: token, api key, client secret, cookie
	kindPassword      // chosen by people, so any look: password, passwd, pwd
	kindLogin         // login, creds: a user's name may stand before the value
	kindWords         // a row of words: mnemonic, seed phrase
)

// trust is how sure a name is.
type trust uint8

const (
	trustNone   trust = iota // token_count, password_policy: not the secret itself
	trustMedium              // secret_blue: an unknown word behind the noun
	trustFull                // reset_token, DB_PASSWORD_PROD
)

// nounKinds are the words that name a secret by themselves.
var nounKinds = func() map[string]kind {
	m := map[string]kind{}
	for w := range set(`token tokens tok secret secrets apikey apikeys accesskey secretkey privatekey authkey
		cookie cookies credential jwt bearer authorization otp totp pat tok sas auth
		secretaccesskey accountkey sharedkey signingkey encryptionkey masterkey licensekey sshkey deploykey
		geheimnis jeton segredo secreto`) {
		m[w] = kindToken
	}
	for w := range set(`password passwords passwd passphrase pwd pass passcode pw psw pswd pword passwort kennwort
		contraseña contrasena clave senha wachtwoord hasło haslo lösenord losenord adgangskode salasana
		parola parole heslo jelszó пароль пароля паролем`) {
		m[w] = kindPassword
	}
	for w := range set(`login logins credentials cred creds`) {
		m[w] = kindLogin
	}
	for w := range set(`mnemonic seedphrase`) {
		m[w] = kindWords
	}
	return m
}()

// pairNouns name a secret only behind certain words.
var pairNouns = map[string]struct {
	kind   kind
	owners map[string]bool
}{
	"key":    {kindToken, keyOwners},
	"keys":   {kindToken, keyOwners},
	"code":   {kindToken, set(`recovery backup unlock activation pairing invite`)},
	"codes":  {kindToken, set(`recovery backup unlock activation pairing invite`)},
	"seed":   {kindToken, set(`totp otp mfa wallet`)},
	"passe":  {kindPassword, set(`de`)},
	"phrase": {kindWords, set(`seed recovery backup wallet secret`)},
}

// nounEnds are endings that make a word written in one, such as dbpassword or
// accesstoken, the name of a secret.
var nounEnds = []struct {
	end  string
	kind kind
}{
	{"token", kindToken}, {"tokens", kindToken}, {"secret", kindToken}, {"apikey", kindToken}, {"accesskey", kindToken},
	{"secretkey", kindToken}, {"privatekey", kindToken}, {"authkey", kindToken}, {"password", kindPassword},
	{"passwd", kindPassword}, {"passphrase", kindPassword}, {"pwd", kindPassword}, {"passwort", kindPassword},
	{"dbpass", kindPassword}, {"userpass", kindPassword}, {"smtppass", kindPassword}, {"rootpass", kindPassword},
	{"mailpass", kindPassword}, {"adminpass", kindPassword}, {"sshpass", kindPassword}, {"keypass", kindPassword},
	{"storepass", kindPassword}, {"mypass", kindPassword}, {"ftppass", kindPassword},
}

// keyOwners make "key" the name of a secret when they stand before it.
var keyOwners = set(`api access secret private client account storage shared signing sign signature encryption
	encrypt decryption decrypt master auth authentication authorization service admin root deploy ssh gpg pgp
	license licence app application consumer subscription session webhook hmac aes rsa ed25519 jwt cookie
	server write ingest integration developer bot vault recovery wallet tls ssl cert certificate symmetric
	maps bearer token secure security management read live prod production test sandbox personal
	sas preshared psk wireguard activation product stream rest platform project org
	openai anthropic github gitlab stripe google aws azure wifi wlan wpa`)

// neutral words may follow the noun: the name still means the secret.
var neutral = set(`value values val raw plain plaintext string str b64 base64 hex encoded enc prod production
	staging stage stg dev development test testing qa uat live sandbox local ci old new current cur prev previous
	next primary secondary backup main temp tmp default a b c x y v s text data content
	here below again now`)

// meta words behind the noun say that the value is about the secret.
var meta = set(`count counts counter limit limits max min maximum minimum length len size sizes policy policies env
	envvar name names id ids type types kind url uri urls endpoint endpoints path paths file files filename dir
	format regex pattern hash hashes hashed digest sha sha1 sha256 md5 fingerprint checksum hint prefix suffix
	header headers field fields param params parameter column label title description desc strategy scheme
	provider manager managers store stores rotation rotate rotated required enabled disabled expiry expires
	expiration expired exp ttl lifetime age timeout scanner scan scanning detector bucket budget usage used cost
	price rate window cache santa version versions algo algorithm alg cipher ref refs reference arn source location
	status state valid validator validation check checks prompt form page screen flow strength score index
	position offset stream parser handling handler service services reset resets lock changed change created
	updated at by in out per issuer audience scope scopes role roles owner public pub bits bytes chars characters
	words entropy method mode map table list set group groups rules rule limitations estimate estimator counting
	usd total totals left remaining input output cached reasoning completion context backend plugin module`)

// subwords splits a name into lower-case words, at separators and where a
// capital starts a word.
func subwords(name string) []string {
	var out []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out = append(out, strings.ToLower(name[start:end]))
		}
		start = -1
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !is(c, cAlnum|cOther) {
			flush(i)
			continue
		}
		if start >= 0 && is(c, cUpper) {
			p, n := name[i-1], byteAt(name, i+1)
			if is(p, cLower) || is(p, cDigit) && is(n, cLower) || is(p, cUpper) && is(n, cLower) && !(n == 's' && !is(byteAt(name, i+2), cLower)) {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(name))
	return out
}

// classify says what a name promises: the last noun in it counts, and what
// follows the noun decides how far to trust it.
func classify(words []string) (kind, trust) {
	for i := len(words) - 1; i >= 0; i-- {
		k := noun(words, i)
		if k == kindNone {
			continue
		}
		t := trustFull
		for _, w := range words[i+1:] {
			switch {
			case meta[w]:
				return k, trustNone
			case neutral[w] || look(w).letters() == 0:
			default:
				t = trustMedium
			}
		}
		return k, t
	}
	return kindNone, trustNone
}

// noun says which kind of secret the word at i names.
func noun(words []string, i int) kind {
	w := strings.TrimRight(words[i], "0123456789")
	if k := nounKinds[w]; k != kindNone {
		if (w == "auth" || w == "clave") && len(words) == 1 {
			return kindNone // too common alone; the rules for headers and links know them
		}
		return k
	}
	if p, ok := pairNouns[w]; ok {
		if i > 0 && p.owners[words[i-1]] {
			return p.kind
		}
		return kindNone
	}
	for _, e := range nounEnds {
		if strings.HasSuffix(w, e.end) {
			return e.kind
		}
	}
	return kindNone
}
