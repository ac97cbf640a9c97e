package secret

import (
	"strings"

	"github.com/zricethezav/gitleaks/v8/report"
)

// dropped returns why a finding of gitleaks isn't one for us, or "". Our texts
// are notes of developers, where names of identifiers and digests stand beside
// words such as "key" and "access" all the time; gitleaks was made for files.
func dropped(f report.Finding) string {
	v := f.Secret
	switch f.RuleID {
	case genericRule:
		return droppedGeneric(f)
	case "discord-client-id", "asana-client-id":
		return "an id of 16 to 18 digits is public, and channels and tasks have them too"
	case "sourcegraph-access-token":
		if len(v) == 40 && isHex(strings.ToLower(v)) {
			return "any git commit has this form; a named token is found by its name"
		}
	case "curl-auth-user", "curl-auth-header":
		if _, pass, ok := strings.Cut(strings.Trim(v, `"'`), ":"); ok && placeholder(pass) || placeholder(strings.Trim(v, `"'`)) {
			return "a sample, not a credential"
		}
	}
	return ""
}

// droppedGeneric judges a finding of the generic rule, which takes any value
// behind a word such as key or access.
func droppedGeneric(f report.Finding) string {
	v := f.Secret
	i := strings.LastIndex(f.Match, v)
	name := strings.TrimRight(f.Match[:max(i, 0)], " \t\r\n\"'`=:>|?,")
	words := subwords(name)
	k, t := classify(words)
	named := k != kindNone && t == trustFull
	switch {
	case placeholder(v):
		return "a sample, not a value"
	case structured(v) || notSecret(v):
		return "a path, an identifier or a digest that says so"
	case k != kindNone && t == trustNone:
		return "the name says that the value is about a secret"
	case !named && (isHex(v) && len(v) >= 7 || isUUID(v)):
		return "a commit, a digest or an id behind a name that isn't a secret's"
	case !named && digestBefore(f.Match, max(i, 0)):
		return "a digest or an id, as the word before it says"
	case !named && wordySlug(v):
		return "mostly words"
	case !named && otherKeys(words):
		return "a key of a map, a cache or a table"
	}
	return ""
}

// otherKeys reports whether a name means a key that opens nothing.
func otherKeys(words []string) bool {
	for i, w := range words {
		if (w == "key" || w == "keys") && i > 0 && harmlessOwners[words[i-1]] {
			return true
		}
	}
	return false
}

var harmlessOwners = set(`idempotency cache primary foreign sort partition routing row map object dedupe dedup lookup group
	s3 redis index shard public hash natural composite candidate unique registry translation i18n config locale query
	storage_object bucket rate limit message event trace correlation request job task lock etcd dict json yaml`)
