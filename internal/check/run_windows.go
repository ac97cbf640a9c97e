package check

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// process is a command in a process group of its own. Windows has no signals
// but Ctrl-Break; what the command started may outlive it.
type process struct{ cmd *exec.Cmd }

func startGroup(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd}, nil
}

func (p *process) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.cmd.Process.Pid))
}
func (p *process) kill()                                 { _ = p.cmd.Process.Kill() }
func (p *process) sweep(<-chan time.Time, time.Duration) {}
func (p *process) pass(_ os.Signal)                      { p.terminate() }
func (p *process) giveBack()                             {}

// drain can't tell here what stands in a pipe.
func drain(*os.File, []byte, io.Writer) {}

func endedBy(*os.ProcessState) (int, string) { return 0, "" }

func executable(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return fs.ErrPermission
	}
	return err
}

func notRunnable(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }

func extensions(env []string) []string {
	ext := variable(env, "PATHEXT")
	if ext == "" {
		ext = ".COM;.EXE;.BAT;.CMD"
	}
	return append([]string{""}, strings.Split(ext, ";")...)
}

func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

func (s *streams) startTTY(*exec.Cmd, *Command) (*process, error) { return nil, ErrNoTTY }
