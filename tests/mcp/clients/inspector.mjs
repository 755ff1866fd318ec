// The Inspector's command line: one process for each request.
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { key, main, program, stdioEnv, tasks, url } from './common.mjs';

const root = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json'));
const launcher = join(root, 'clients/launcher/build/index.js');

function inspect(target, words, signal) {
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [launcher, '--cli', ...target, ...words],
      { env: { ...stdioEnv, HOME: process.env.MCP_SCRATCH }, maxBuffer: 64 << 20, signal, timeout: 400000 },
      (error, out, err) => {
        try {
          resolve(JSON.parse(out));
        } catch {
          reject(new Error(`${error?.message}\n${out.slice(0, 500)}\n${err.slice(0, 500)}`));
        }
      });
    child.stdin.end();
  });
}

// Values that are not strings are read as JSON by the Inspector.
const words = (name, args) => ['--method', 'tools/call', '--tool-name', name,
  ...Object.entries(args).flatMap(([k, v]) => ['--tool-arg', `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`])];

const part = (target) => (who) => tasks(who, {
  cannotCancel: true, // but by killing it
  list: async () => (await inspect(target, ['--method', 'tools/list'])).tools,
  call: async (name, args) => inspect(target, words(name, args)),
  read: async (uri) => (await inspect(target, ['--method', 'resources/read', '--uri', uri])).contents,
});

await main({
  'inspector, HTTP': part([url, '--transport', 'http', '--header', `Authorization: Bearer ${key}`]),
  'inspector, stdio': part([program, 'mcp', '-e', `CICADA_SOCKET=${stdioEnv.CICADA_SOCKET}`]),
});
