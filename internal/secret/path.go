package secret

import "strings"

// LooksSecretFile reports whether a file's name says that it holds secrets:
// .env*, *.pem, *.key, id_*, credentials*, whatever the case of the letters.
// Both kinds of slashes separate folders, since receipts keep slash paths and
// callers on Windows may not. It never opens the file.
func LooksSecretFile(path string) bool {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	for _, prefix := range []string{".env", "id_", "credentials"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, ".pem") || strings.HasSuffix(name, ".key")
}
