// Makes the npm packages of a release, ready to be packed and published: one for
// each platform that holds the program and nothing else, and the one that
// people install, which depends on exactly these. Also stamps server.json.
//
//   node npm/build.mjs --version 1.2.3 --owner NAME --out FOLDER linux-x64=PROGRAM …
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { version: { type: 'string' }, owner: { type: 'string', default: 'OWNER' }, out: { type: 'string' } },
});
if (!values.version || !values.out || positionals.length === 0) {
  console.error('usage: node npm/build.mjs --version V --owner NAME --out FOLDER PLATFORM=PROGRAM…');
  process.exit(2);
}

const read = (file) => JSON.parse(readFileSync(file, 'utf8').replaceAll('OWNER', values.owner));
const write = (file, value) => writeFileSync(file, JSON.stringify(value, null, 2) + '\n');
const main = read(join(here, 'package.json'));
main.version = values.version;
main.optionalDependencies = {};

for (const arg of positionals) {
  const [platform, program] = arg.split(/=(.*)/s);
  const [os, cpu] = platform.split('-');
  const name = `holdfast-${platform}`;
  const dir = join(values.out, name);
  const file = os === 'win32' ? 'holdfast.exe' : 'holdfast';
  mkdirSync(join(dir, 'bin'), { recursive: true });
  copyFileSync(program, join(dir, 'bin', file));
  chmodSync(join(dir, 'bin', file), 0o755);
  copyFileSync(join(root, 'LICENSE'), join(dir, 'LICENSE'));
  writeFileSync(join(dir, 'README.md'), `The ${os} ${cpu} program of the package holdfast. Install that one.\n`);
  const { license, repository } = main;
  write(join(dir, 'package.json'), {
    name, version: values.version, description: `holdfast for ${os} ${cpu}`, license, repository,
    os: [os], cpu: [cpu], files: ['bin', 'LICENSE'], preferUnplugged: true,
  });
  main.optionalDependencies[name] = values.version;
}

const dir = join(values.out, 'holdfast');
mkdirSync(dir, { recursive: true });
cpSync(join(here, 'bin'), join(dir, 'bin'), { recursive: true });
chmodSync(join(dir, 'bin', 'holdfast.js'), 0o755);
copyFileSync(join(here, 'README.md'), join(dir, 'README.md'));
copyFileSync(join(root, 'LICENSE'), join(dir, 'LICENSE'));
write(join(dir, 'package.json'), main);

const server = read(join(root, 'server.json'));
server.version = values.version;
for (const p of server.packages) p.version = values.version;
write(join(values.out, 'server.json'), server);
