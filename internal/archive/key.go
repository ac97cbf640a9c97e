package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

const (
	// MinPassphrase is the least length of a passphrase, in code points, without
	// the white space around it.
	MinPassphrase = 12
	// WorkFactor is the scrypt work factor of every export: it takes 256 MiB and
	// about a second. It does not depend on the machine at hand.
	WorkFactor = 18
	// MaxWorkFactor is the largest that is opened: it takes 1 GiB.
	MaxWorkFactor = 20
	// MaxKeyFile is the largest file of keys or passphrases that is read, in bytes.
	MaxKeyFile = 1 << 20

	maxPassphrase = 1024 // bytes
	maxKeys       = 64
)

// ErrPassphrase: a passphrase is too short or too long.
var ErrPassphrase = fmt.Errorf("a passphrase has at least %d characters, the white space around it not counted, and at most %d bytes", MinPassphrase, maxPassphrase)

// KeyError says what is wrong with a key, never the key itself.
type KeyError struct{ Why string }

func (e *KeyError) Error() string { return e.Why }

// Lock is to whom an export is encrypted.
type Lock struct {
	to  []age.Recipient
	key *Key // opens it, if it is known: of a passphrase
}

// Key opens exports.
type Key struct {
	ids        []age.Identity
	passphrase bool
}

// Passphrase makes the lock and the key of a passphrase. The white space around
// it is not part of it.
func Passphrase(text string) (Lock, Key, error) {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) < MinPassphrase || len(text) > maxPassphrase {
		return Lock{}, Key{}, ErrPassphrase
	}
	key, err := OpenPassphrase(text)
	if err != nil {
		return Lock{}, Key{}, err
	}
	r, err := age.NewScryptRecipient(text)
	if err != nil {
		return Lock{}, Key{}, &KeyError{Why: "the passphrase can't be used"}
	}
	r.SetWorkFactor(WorkFactor)
	return Lock{to: []age.Recipient{r}, key: &key}, key, nil
}

// OpenPassphrase is the key of a passphrase of any length: the export may have
// been made by another program.
func OpenPassphrase(text string) (Key, error) {
	text = strings.TrimSpace(text)
	id, err := age.NewScryptIdentity(text)
	if err != nil {
		return Key{}, &KeyError{Why: "the passphrase is empty"}
	}
	id.SetMaxWorkFactor(MaxWorkFactor)
	return Key{ids: []age.Identity{id}, passphrase: true}, nil
}

// Recipients makes a lock of public keys: age X25519 or SSH.
func Recipients(keys []string) (Lock, error) {
	var l Lock
	for i, k := range keys {
		r, err := recipient(k)
		if err != nil {
			return Lock{}, &KeyError{Why: fmt.Sprintf("recipient %d is not a public key of age (age1…) or SSH (ssh-ed25519, ssh-rsa)", i+1)}
		}
		l.to = append(l.to, r)
	}
	if len(l.to) == 0 || len(l.to) > maxKeys {
		return Lock{}, &KeyError{Why: fmt.Sprintf("an export has 1 to %d recipients", maxKeys)}
	}
	return l, nil
}

func recipient(k string) (age.Recipient, error) {
	switch {
	case strings.HasPrefix(k, "ssh-"):
		return agessh.ParseRecipient(k)
	case strings.HasPrefix(k, "age1pq1"):
		return age.ParseHybridRecipient(k)
	}
	return age.ParseX25519Recipient(k)
}

// ReadRecipients reads public keys, one a line; empty lines and those that
// begin with # are passed over.
func ReadRecipients(r io.Reader) ([]string, error) {
	var out []string
	s := bufio.NewScanner(io.LimitReader(r, MaxKeyFile))
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	if s.Err() != nil {
		return nil, &KeyError{Why: "the file of recipients has a line that is too long"}
	}
	return out, nil
}

// Identities reads private keys: an age identity file, or one unencrypted SSH key.
func Identities(r io.Reader) (Key, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxKeyFile))
	if err != nil {
		return Key{}, fmt.Errorf("read identity: %w", err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("-----BEGIN ")) {
		id, err := agessh.ParseIdentity(b)
		if err != nil {
			return Key{}, &KeyError{Why: "the identity is not an unencrypted SSH key"}
		}
		return Key{ids: []age.Identity{id}}, nil
	}
	ids, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil || len(ids) > maxKeys {
		return Key{}, &KeyError{Why: "the identity file is not one of age or SSH"}
	}
	return Key{ids: ids}, nil
}

// tapped keeps the file key that age makes for an export, so that what was
// written can be opened again when only public keys are known.
type tapped struct {
	age.Recipient
	fileKey *[]byte
}

func (t tapped) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	*t.fileKey = bytes.Clone(fileKey)
	return t.Recipient.Wrap(fileKey)
}

func (t tapped) WrapWithLabels(fileKey []byte) ([]*age.Stanza, []string, error) {
	*t.fileKey = bytes.Clone(fileKey)
	if r, ok := t.Recipient.(age.RecipientWithLabels); ok {
		return r.WrapWithLabels(fileKey)
	}
	s, err := t.Recipient.Wrap(fileKey)
	return s, nil, err
}

var errNoKey = errors.New("no key")
