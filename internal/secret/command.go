package secret

import "strings"

// commandFlags are commands that take a password in a flag or, with "+n", as
// the n-th word behind the flag.
var commandFlags = map[string][]string{
	"redis-cli":     {"-a"},
	"mysql":         {"-p"},
	"mariadb":       {"-p"},
	"sshpass":       {"-p"},
	"docker login":  {"-p"},
	"podman login":  {"-p"},
	"helm registry": {"-p"},
	"az login":      {"-p"},
	"oc login":      {"-p"},
	"htpasswd":      {"-b", "-nb", "-bc", "-cb"},
	"openssl":       {"-k", "-passin", "-passout", "-pass"},
	"smbclient":     {"-U"},
	"ldapsearch":    {"-w"},
	"mosquitto_":    {"-P"},
	"7z ":           {"-p"},
	"zip ":          {"-P"},
}

// maxCommand is how far behind a command its flags are looked for.
const maxCommand = 160

// command judges the flags behind the command whose name ends at i.
func (p *page) command(name string, i int) {
	end := min(len(p.s), i+maxCommand)
	if j := strings.IndexAny(p.s[i:end], "\n|"); j >= 0 {
		end = i + j
	}
	for _, flag := range commandFlags[name] {
		j := strings.Index(p.s[i:end], " "+flag)
		if j < 0 {
			continue
		}
		at := i + j + 1 + len(flag)
		at = skip(p.s, at, cSpace|cQuote, 3)
		if name == "htpasswd" { // file, user, password
			for n := 0; n < 2; n++ {
				for at < end && !is(p.s[at], cSpace) {
					at++
				}
				at = skip(p.s, at, cSpace|cQuote, 3)
			}
		}
		if strings.HasPrefix(p.s[at:], "pass:") {
			at += len("pass:")
		}
		stop := bareEnd(p.s, at)
		if v := p.s[at:stop]; name == "smbclient" {
			at += strings.IndexByte(v, '%') + 1
		}
		v := p.s[at:max(at, stop)]
		if t := look(v); len(v) >= 6 && v[0] != '-' && !placeholder(v) && !notSecret(v) && (t.random() || chosen(v, t)) {
			p.add("command-password", rankShape, at, stop)
		}
	}
}
