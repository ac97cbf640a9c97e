package secret

import "strings"

// publicBlob reports whether a value begins like data that is public or no
// secret by its format: images, archives, public keys, certificates, content
// identifiers.
func publicBlob(v string) bool {
	for _, p := range publicStarts {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return false
}

// publicStarts are the first characters, in base64, of PNG, GIF, JPEG, WebP,
// PDF, ZIP, gzip, SVG, XML, wasm, fonts; of SSH public keys; of IPFS content
// identifiers; and the names of public keys and identifiers of vendors.
var publicStarts = []string{
	"iVBORw0KGgo", "R0lGOD", "/9j/", "UklGR", "JVBERi0", "UEsDB", "H4sIA", "PHN2Zy", "PD94bWw", "AGFzbQ", "d09GR", "d09GMg", "T1RUTw", "AAEAAAA",
	"AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNr", "AAAAInNr",
	"Qm", "bafy", "bafk", "MIIBIjANBg", "MIICIjANBg", "MFkwEwYH", "MCowBQYD", "age1", "npub1",
	"pk_live_", "pk_test_", "phc_", "cus_", "sub_", "price_", "prod_", "pi_", "pm_", "ch_", "evt_", "acct_", "txn_",
	"seti_", "msg_", "req_", "toolu_", "chatcmpl-", "asst_", "thread_", "run_", "step_", "file-", "resp_", "call_",
	"batch_", "user_", "org_", "team_", "prj_", "dpl_", "img_", "task_", "job_", "build_", "conv_", "G-", "UA-", "GTM-",
}

// commonID reports whether a value has the form of identifiers that stand in
// notes without being secrets: digests, UUIDs, ULIDs, numbers, public blobs.
func commonID(v string) bool {
	return isHex(v) || isUUID(v) || publicBlob(v) || notSecret(v) || look(v).letters() == 0 ||
		len(v) == 26 && look(v).lower == 0
}

// digestWords before a value say that it identifies content and is public.
var digestWords = []string{
	"sha", "md5", "hash", "digest", "checksum", "integrity", "fingerprint", "etag", "commit", "rev", "revision", "blob",
	"tree", "cid", "address", "pubkey", "public key", "public-key", "public_key", "recipient", "base64,", "certificate", "cert",
	"id", "ids", "uuid", "ulid", "nonce", "salt", "seed", "trace", "span", "cursor", "signature", "signed", "sum", "h1:", "image", "challenge", "version", "branch", "ref", "head",
}

// digestBefore reports whether such a word stands in the last few characters
// before i.
func digestBefore(s string, i int) bool {
	before := strings.ToLower(s[max(0, i-28):i])
	for _, w := range digestWords {
		j := strings.LastIndex(before, w)
		if j < 0 {
			continue
		}
		left := j == 0 || !is(before[j-1], cLetter)
		right := j+len(w) == len(before) || !is(before[j+len(w)], cLetter) || strings.HasPrefix(before[j+len(w):], "s ")
		if left && right || len(w) > 4 {
			return true
		}
	}
	return false
}
