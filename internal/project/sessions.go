package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"holdfast/internal/client"
	"holdfast/internal/durable"
)

// Sessions are noted in sessions.jsonl in the ledger's state folder: a machine's
// own notes, no part of the ledger.
const (
	sessionsName = "sessions.jsonl"
	sessionsLock = "sessions.lock"
	maxSessions  = 1000    // lines
	keptSessions = 700     // lines, when there are more
	maxBook      = 2 << 20 // bytes
)

// sameEvent is how long a key names one event: some clients run two hook files.
const sameEvent = time.Minute

// sessionLine is one line of sessions.jsonl.
type sessionLine struct {
	At       string       `json:"at"`
	Event    client.Event `json:"event"`
	Client   string       `json:"client"`
	Session  string       `json:"session,omitempty"`
	Key      string       `json:"key"`
	Worktree string       `json:"worktree,omitempty"`
	Revision *int64       `json:"revision,omitempty"` // of the ledger then
	Saves    *int         `json:"saves,omitempty"`    // by this client's name since the session began; missing: not known
	Commit   string       `json:"commit,omitempty"`
	Digest   *string      `json:"digest,omitempty"` // of the uncommitted changes; missing: not known
	Reason   string       `json:"reason,omitempty"`
	Reminded bool         `json:"reminded,omitempty"`
}

// sessions is the open, locked book of sessions.
type sessions struct {
	dir      *durable.Dir
	lock     *durable.Lock
	lines    []sessionLine
	raw      int // lines in the file, whole or not
	worktree string
}

var errNoBook = errors.New("the sessions can't be noted here")

// openSessions opens the book of the ledger. It waits for nobody for long.
func (p *Project) openSessions(ctx context.Context) (*sessions, error) {
	id := p.log.ID()
	if id == "" {
		return nil, errNoBook
	}
	for _, root := range p.m.State {
		top, err := p.w.Layer.OpenDir(root)
		if err != nil {
			continue
		}
		dir, err := top.MakeSub(id, 0o700)
		top.Close()
		if err != nil {
			continue
		}
		lock, err := dir.Lock(ctx, sessionsLock, 300*time.Millisecond, p.m.Owner)
		if err != nil && !errors.Is(err, durable.ErrLockUnsupported) {
			dir.Close()
			continue
		}
		s := &sessions{dir: dir, lock: lock, worktree: p.loc.worktree}
		if err := s.read(); err != nil {
			s.close()
			continue
		}
		return s, nil
	}
	return nil, errNoBook
}

func (s *sessions) read() error {
	data, err := s.dir.ReadFile(sessionsName, maxBook)
	if _, large := errors.AsType[*durable.TooLargeError](err); large {
		s.raw = maxSessions + 1 // made anew with the next line
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read sessions: %w", err)
	}
	for l := range bytes.Lines(data) {
		s.raw++
		var line sessionLine
		if json.Unmarshal(l, &line) == nil && line.Event != "" {
			s.lines = append(s.lines, line)
		}
	}
	return nil
}

func (s *sessions) close() {
	if s.lock != nil {
		_ = s.lock.Unlock() // it ends with the process anyway
	}
	_ = s.dir.Close()
}

func (s *sessions) line(in client.HookInput, now time.Time) sessionLine {
	return sessionLine{At: now.UTC().Format(time.RFC3339Nano), Event: in.Event, Client: clip(in.Client, 40), Session: in.Session,
		Key: in.Key(), Worktree: s.worktree, Reason: clip(in.Reason, 80)}
}

// seen: the event was noted less than a minute ago.
func (s *sessions) seen(key string, now time.Time) bool {
	return slices.ContainsFunc(s.lines, func(l sessionLine) bool { return l.Key == key && age(now, l.At) < sameEvent })
}

// repeats: Gemini CLI announces a compression before each call of its model
// (0.61). One line for a row of them is enough.
func (s *sessions) repeats(in client.HookInput, now time.Time) bool {
	if in.Event != client.BeforeCompaction {
		return false
	}
	for _, l := range slices.Backward(s.lines) {
		if s.of(&l, in) {
			return l.Event == client.BeforeCompaction && age(now, l.At) < 10*time.Minute
		}
	}
	return false
}

func (s *sessions) of(l *sessionLine, in client.HookInput) bool {
	return l.Session == in.Session && l.Client == in.Client && l.Worktree == s.worktree
}

// start is how the session of an event began; nil if that isn't known.
func (s *sessions) start(in client.HookInput) *sessionLine {
	for i := range s.lines {
		if l := &s.lines[i]; l.Event == client.SessionStart && s.of(l, in) && in.Session != "" {
			return l
		}
	}
	return nil
}

func (s *sessions) reminded(in client.HookInput) bool {
	return slices.ContainsFunc(s.lines, func(l sessionLine) bool { return l.Reminded && s.of(&l, in) })
}

// lastEnd is the end of the newest other session whose saves were counted.
func (s *sessions) lastEnd(session string) *sessionLine {
	for i := len(s.lines) - 1; i >= 0; i-- {
		if l := &s.lines[i]; l.Event == client.SessionEnd && l.Saves != nil && l.Session != session {
			return l
		}
	}
	return nil
}

func (l *sessionLine) notice(now time.Time) string {
	return fmt.Sprintf("the last session here, of %s, ended %s; %s saved by it", visible(l.Client), ageText(age(now, l.At)), plural(*l.Saves, "record"))
}

// add notes a line, and keeps the file short: the newest lines, and how the
// sessions among them began.
func (s *sessions) add(l sessionLine) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("note session: %w", err)
	}
	raw = append(raw, '\n')
	if s.raw < maxSessions {
		if err := s.dir.Append(sessionsName, raw, 0o600); err != nil {
			return fmt.Errorf("note session: %w", err)
		}
		return nil
	}
	var out bytes.Buffer
	for _, old := range s.newest() {
		b, err := json.Marshal(old)
		if err != nil {
			return fmt.Errorf("note session: %w", err)
		}
		out.Write(append(b, '\n'))
	}
	out.Write(raw)
	if err := s.dir.Replace(nil, sessionsName, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("note session: %w", err)
	}
	return nil
}

func (s *sessions) newest() []sessionLine {
	if len(s.lines) <= keptSessions {
		return s.lines
	}
	tail := s.lines[len(s.lines)-keptSessions:]
	began := map[[2]string]bool{}
	for _, l := range tail {
		began[[2]string{l.Client, l.Session}] = true
	}
	var out []sessionLine
	for _, l := range s.lines[:len(s.lines)-keptSessions] {
		k := [2]string{l.Client, l.Session}
		if (l.Event == client.SessionStart || l.Reminded) && began[k] && len(out) < maxSessions-keptSessions-1 {
			out = append(out, l)
		}
	}
	return append(out, tail...)
}

// SessionsPath is where sessions are noted, for those who look for it.
func (p *Project) SessionsPath() string {
	if len(p.m.State) == 0 || p.log.ID() == "" {
		return ""
	}
	return filepath.Join(p.m.State[0], p.log.ID(), sessionsName)
}
