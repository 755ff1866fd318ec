// @langchain/mcp-adapters: tools as LangChain's agents get them.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { key, main, program, stdioEnv, tasks, url } from './common.mjs';

// A tool of LangChain answers with a message: its content, and the rest as the artifact.
function asResult(message) {
  const content = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : [...message.content];
  for (const block of content) {
    const source = block.type === 'image_url' ? /^data:(.*?);base64,(.*)$/s.exec(block.image_url.url ?? block.image_url) : null;
    if (source) Object.assign(block, { type: 'image', mimeType: source[1], data: source[2] });
    else if (block.type === 'image' && block.data === undefined) block.data = block.base64 ?? block.source?.data;
  }
  return { content };
}

const part = (connection) => async (who) => {
  const client = new MultiServerMCPClient({ mcpServers: { cicada: { ...connection, defaultToolTimeout: 400000 } },
    useStandardContentBlocks: false });
  const tools = await client.getTools();
  await tasks(who, {
    list: async () => tools,
    call: async (name, args, options) => {
      const tool = tools.find((t) => t.name === name);
      try {
        return asResult(await tool.invoke({ type: 'tool_call', id: 'call_1', name, args }, { signal: options?.signal, timeout: 400000 }));
      } catch (error) {
        if (options?.signal?.aborted) throw error;
        return { content: [{ type: 'text', text: String(error.message) }], isError: true }; // as its agents show it
      }
    },
  });
  await client.close();
};

await main({
  'langchain, HTTP': part({ transport: 'http', url, headers: { Authorization: `Bearer ${key}` } }),
  'langchain, stdio': part({ transport: 'stdio', command: program, args: ['mcp'], env: stdioEnv }),
});
