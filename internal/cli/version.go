package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Build says what this program was built from.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadBuild reads the stamp that the go command left in this program. A build
// with -buildvcs=false has no revision.
func ReadBuild() Build {
	b := Build{Version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if v := info.Main.Version; v != "" {
		b.Version = v
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	b.Revision, b.Time, b.Modified = set["vcs.revision"], set["vcs.time"], set["vcs.modified"] == "true"
	b.Platform = set["GOOS"] + "/" + set["GOARCH"]
	return b
}

func newVersion(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "The version, its VCS revision and Go version",
		Long:    "Print the version, the revision it was built from, and the Go version." + exitStatus(0, 2, 6),
		Example: "  holdfast version --json", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = a.run(func(ctxT, []string) error { return runVersion(a) })
	return cmd
}

func runVersion(a *app) error {
	b := ReadBuild()
	return a.answer(&b, func(p *printer) {
		p.printf("holdfast %s\n", b.Version)
		if b.Revision != "" {
			p.printf("revision %s", b.Revision)
			if b.Time != "" {
				p.printf(" of %s", b.Time)
			}
			if b.Modified {
				p.printf(", modified")
			}
			p.printf("\n")
		}
		p.printf("%s %s\n", b.Go, b.Platform)
	})
}
