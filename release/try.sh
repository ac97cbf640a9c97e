#!/usr/bin/env bash
# Tries the Linux packages of dist in scratch roots: what is installed is used.
set -euo pipefail
cd "$(dirname "$0")/.."
arch=$(go env GOARCH)
commit=$(git rev-parse HEAD)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

use() { # root: save and resume with the program of that root
	local root=$1 p=$tmp/project-$(basename "$1")
	mkdir -p "$p" "$tmp/home"
	git -C "$p" init -q
	(cd "$p" && export HOME=$tmp/home && "$root/usr/bin/holdfast" version | tee "$tmp/version" && grep -q "^revision $commit" "$tmp/version" &&
		"$root/usr/bin/holdfast" record note n-1 --text "from the package" --source try >/dev/null &&
		"$root/usr/bin/holdfast" resume | grep -q "from the package")
	for f in usr/share/man/man1/holdfast.1.gz usr/share/man/man1/holdfast-resume.1.gz usr/share/bash-completion/completions/holdfast usr/share/fish/vendor_completions.d/holdfast.fish usr/share/doc/holdfast/copyright; do
		test -s "$root/$f" || { echo "missing: $f" >&2; exit 1; }
	done
}

tried=0
if command -v dpkg >/dev/null; then
	root=$tmp/deb
	mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
	touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
	dpkg --root="$root" --force-not-root --force-script-chrootless -i dist/holdfast_*_"$arch".deb >/dev/null
	use "$root"
	dpkg --root="$root" --force-not-root --force-script-chrootless --purge holdfast >/dev/null
	test ! -e "$root/usr/bin/holdfast" || { echo "purge left the program" >&2; exit 1; }
	echo "deb: installed, used, purged"
	tried=$((tried + 1))
fi
if command -v bsdtar >/dev/null || command -v rpm2cpio >/dev/null; then
	root=$tmp/rpm
	mkdir -p "$root"
	rpm=$(echo dist/holdfast-*."$(uname -m)".rpm)
	if command -v bsdtar >/dev/null; then bsdtar -xf "$rpm" -C "$root"; else rpm2cpio "$rpm" | (cd "$root" && cpio -idm --quiet); fi
	use "$root"
	echo "rpm: unpacked, used"
	tried=$((tried + 1))
else
	echo "rpm: NOT tried (no bsdtar, no rpm2cpio here)"
fi
root=$tmp/apk
mkdir -p "$root"
tar -xzf "$(echo dist/holdfast_*_"$(uname -m)".apk)" -C "$root" 2>/dev/null
use "$root"
echo "apk: unpacked, used"
root=$tmp/tar/usr/bin
mkdir -p "$root"
tar -xzf "$(echo dist/holdfast_*_linux_"$arch".tar.gz)" -C "$root"
"$root/holdfast" version >/dev/null
for f in man/holdfast.1.gz completions/_holdfast LICENSE; do test -s "$root/$f" || { echo "archive lacks $f" >&2; exit 1; }; done
echo "archive: unpacked, started"
if command -v wine >/dev/null; then
	if WINEPREFIX=$tmp/wine WINEDEBUG=-all HOME=$tmp timeout 120 wine dist/holdfast_windows_amd64_*/holdfast.exe version >"$tmp/wine.out" 2>&1; then
		echo "windows: started under Wine"
	else
		echo "windows: did NOT start under $(wine --version 2>/dev/null): $(grep -m1 -i 'fatal\|error' "$tmp/wine.out")"
	fi
else
	echo "windows: NOT tried (no Wine here)"
fi
test "$tried" -gt 0
