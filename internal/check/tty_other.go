//go:build !linux && !windows

package check

import "os/exec"

func (s *streams) startTTY(*exec.Cmd, *Command) (*process, error) { return nil, ErrNoTTY }
