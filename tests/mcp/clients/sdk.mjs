// @modelcontextprotocol/sdk, the official SDK that most programs still use, and mcp-remote, which brings HTTP
// to clients that only know stdio; the SDK is its client here.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { key, main, program, stdioEnv, tasks, url } from './common.mjs';

const remote = join(dirname(createRequire(import.meta.url).resolve('mcp-remote/package.json')), 'dist/proxy.js');
const patience = { timeout: 400000, resetTimeoutOnProgress: true };

const part = (transport) => async (who) => {
  const client = new Client({ name: 'tests', version: '1' });
  await client.connect(transport());
  await tasks(who, {
    tellsProgress: true,
    list: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, { ...patience, ...options }),
    read: async (uri) => (await client.readResource({ uri })).contents,
  });
  await client.close();
};

await main({
  'sdk, HTTP': part(() => new StreamableHTTPClientTransport(new URL(url),
    { requestInit: { headers: { Authorization: `Bearer ${key}` } } })),
  'sdk, stdio': part(() => new StdioClientTransport({ command: program, args: ['mcp'], env: stdioEnv })),
  'mcp-remote': part(() => new StdioClientTransport({ command: process.execPath, stderr: 'ignore',
    args: [remote, url, '--transport', 'http-only', '--allow-http', '--header', `Authorization:Bearer ${key}`],
    env: { ...stdioEnv, MCP_REMOTE_CONFIG_DIR: process.env.MCP_SCRATCH } })),
});
