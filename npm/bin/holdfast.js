#!/usr/bin/env node
'use strict';
// Starts the program of this platform's package, with its own input and output.
const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const name = `holdfast-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/holdfast${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  process.stderr.write(
    `holdfast: the package ${name} is not installed.\n` +
    'Install again without --omit=optional. If there is no such package, build from source.\n');
  process.exit(6);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (err) => {
  process.stderr.write(`holdfast: start ${name}: ${err.message}\n`);
  process.exit(6);
});
child.on('exit', (code, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : code);
});
