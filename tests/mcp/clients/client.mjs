// @modelcontextprotocol/client, the official client of both eras.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { check, key, main, program, stdioEnv, tasks, url } from './common.mjs';

const http = () => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
const stdio = () => new StdioClientTransport({ command: program, args: ['mcp'], env: stdioEnv });
const patience = { timeout: 400000, resetTimeoutOnProgress: true };

const part = (transport, mode, era) => async (who) => {
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport());
  check(`${who}: is of the era ${era}`, client.getProtocolEra() === era, client.getProtocolEra());
  await tasks(who, {
    tellsProgress: true,
    list: async () => (await client.listTools()).tools,
    call: (name, args, options) => client.callTool({ name, arguments: args }, { ...patience, ...options }),
    read: async (uri) => (await client.readResource({ uri })).contents,
  });
  await client.close();
};

const pinned = { pin: '2026-07-28' };
await main({
  'client, auto, HTTP': part(http, 'auto', 'modern'),
  'client, auto, stdio': part(stdio, 'auto', 'modern'),
  'client, legacy, HTTP': part(http, 'legacy', 'legacy'),
  'client, legacy, stdio': part(stdio, 'legacy', 'legacy'),
  'client, 2026-07-28, HTTP': part(http, pinned, 'modern'),
  'client, 2026-07-28, stdio': part(stdio, pinned, 'modern'),
});
