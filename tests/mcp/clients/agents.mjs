// @openai/agents: its MCP servers by themselves, and an agent whose model is a script.
import { Agent, MCPServerStdio, MCPServerStreamableHttp, Usage, run, setTracingDisabled } from '@openai/agents';
import { check, key, main, program, stdioEnv, tasks, url } from './common.mjs';

const http = () => new MCPServerStreamableHttp({ name: 'cicada', url, clientSessionTimeoutSeconds: 400,
  requestInit: { headers: { Authorization: `Bearer ${key}` } } });
const stdio = () => new MCPServerStdio({ name: 'cicada', command: program, args: ['mcp'], env: stdioEnv,
  clientSessionTimeoutSeconds: 400 });

// A model that calls run_code, looks at what came of it and answers.
class Script {
  async getResponse(request) {
    const last = Array.isArray(request.input) ? request.input.at(-1) : null;
    const usage = new Usage();
    if (last?.type === 'function_call_result')
      return { usage, output: [{ type: 'message', role: 'assistant', status: 'completed',
        content: [{ type: 'output_text', text: `seen: ${JSON.stringify(last.output)}` }] }] };
    return { usage, output: [{ type: 'function_call', callId: 'c1', name: 'run_code', status: 'completed',
      arguments: JSON.stringify({ code: 'print(6 * 7)' }) }] };
  }
  async *getStreamedResponse() {
    throw new Error('this model does not stream');
  }
}

const part = (make) => async (who) => {
  const server = make();
  await server.connect();
  await tasks(who, {
    list: () => server.listTools(),
    call: (name, args, options) => server.callToolResult(name, args, null, { signal: options?.signal }),
    read: async (uri) => (await server.readResource(uri)).contents,
  });
  const agent = new Agent({ name: 'Analyst', model: new Script(), mcpServers: [server] });
  const result = await run(agent, 'What is six times seven?');
  check(`${who}: an agent uses the tools`, /42/.test(result.finalOutput), result.finalOutput);
  await server.close();
};

setTracingDisabled(true);
await main({ 'openai-agents, HTTP': part(http), 'openai-agents, stdio': part(stdio) });
