/* What each client wants to read. Facts about programs of others: docs/mcp.md says where they are from
 * and how each is tried out. */
#include "cli/mcp_install.h"

#include <string.h>

#include "base/buf.h"
#include "cli/pick.h"

static const char key_word[] = "YOUR_KEY"; /* to be replaced by whoever reads it */

/* ---- entries of JSON files ---- */

/* {"command": ..., "args": [...]} */
static json_t *program_entry(const struct mcp_setup *s)
{
    return json_pack("{s:s, s:o*}", "command", s->program, "args",
                     json_loads(s->words, 0, /* error= */ NULL));
}

/* A server elsewhere, for a client that only starts programs. */
static json_t *desktop_entry(const struct mcp_setup *s)
{
    json_t *entry = program_entry(s);
    if (entry && s->url)
        (void)json_object_set_new(entry, "env",
                                  json_pack("{s:s, s:s}", "CICADA_URL", s->base, "CICADA_API_KEY",
                                            s->key ? s->key : key_word));
    return entry;
}

/* {"url": ..., "headers": {...}} with the key as the client fills it in. */
static json_t *url_entry(const struct mcp_setup *s, const char *type, const char *member,
                         const char *bearer)
{
    return json_pack("{s:s*, s:s, s:{s:s}}", "type", type, member, s->url, "headers",
                     "Authorization", bearer);
}

static json_t *code_entry(const struct mcp_setup *s)
{
    return s->url ? url_entry(s, "http", "url", "Bearer ${CICADA_API_KEY}") : program_entry(s);
}

static json_t *cursor_entry(const struct mcp_setup *s)
{
    return s->url ? url_entry(s, NULL, "url", "Bearer ${env:CICADA_API_KEY}") : program_entry(s);
}

static json_t *windsurf_entry(const struct mcp_setup *s)
{
    return s->url ? url_entry(s, NULL, "serverUrl", "Bearer ${env:CICADA_API_KEY}")
                  : program_entry(s);
}

static json_t *vscode_entry(const struct mcp_setup *s)
{
    if (s->url)
        return url_entry(s, "http", "url", "Bearer ${input:cicada-key}");
    return json_pack("{s:s, s:s, s:o*}", "type", "stdio", "command", s->program, "args",
                     json_loads(s->words, 0, /* error= */ NULL));
}

json_t *mcp_client_inputs(const struct mcp_client *c, const struct mcp_setup *s)
{
    if (c->entry != vscode_entry || !s->url)
        return NULL;
    return json_pack("[{s:s, s:s, s:s, s:b}]", "type", "promptString", "id", "cicada-key",
                     "description", "Key of the cicada server", "password", 1);
}

/* ---- texts ---- */

static void codex_text(const struct mcp_setup *s, struct buf *out)
{
    buf_str(out, "[mcp_servers.cicada]\n");
    if (s->url)
        buf_fmt(out, "url = \"%s\"\nbearer_token_env_var = \"CICADA_API_KEY\"\n", s->url);
    else
        buf_fmt(out, "command = \"%s\"\nargs = %s\n", s->program, s->words);
    buf_str(out, "tool_timeout_sec = 600\n");
}

static void goose_text(const struct mcp_setup *s, struct buf *out)
{
    buf_str(out, "extensions:\n"
                 "  cicada:\n"
                 "    name: cicada\n"
                 "    enabled: true\n");
    if (s->url)
        buf_fmt(out,
                "    type: streamable_http\n"
                "    uri: \"%s\"\n"
                "    headers:\n"
                "      Authorization: \"Bearer %s\"\n",
                s->url, key_word);
    else
        buf_fmt(out,
                "    type: stdio\n"
                "    cmd: \"%s\"\n"
                "    args: %s\n"
                "    envs: {}\n",
                s->program, s->words);
    buf_str(out, "    timeout: 600\n");
}

static void agents_text(const struct mcp_setup *s, struct buf *out)
{
    if (s->url)
        buf_fmt(out,
                "# Python: pip install openai-agents\n"
                "import asyncio, os\n"
                "from agents import Agent, Runner\n"
                "from agents.mcp import MCPServerStreamableHttp\n\n"
                "async def main():\n"
                "    params = {\"url\": \"%s\",\n"
                "              \"headers\": {\"Authorization\": \"Bearer \" + "
                "os.environ[\"CICADA_API_KEY\"]}}\n"
                "    async with MCPServerStreamableHttp(params=params, name=\"cicada\", "
                "cache_tools_list=True,\n"
                "                                       client_session_timeout_seconds=600) as "
                "cicada:\n",
                s->url);
    else
        buf_fmt(out,
                "# Python: pip install openai-agents\n"
                "import asyncio\n"
                "from agents import Agent, Runner\n"
                "from agents.mcp import MCPServerStdio\n\n"
                "async def main():\n"
                "    params = {\"command\": \"%s\", \"args\": %s}\n"
                "    async with MCPServerStdio(params=params, name=\"cicada\", "
                "cache_tools_list=True,\n"
                "                              client_session_timeout_seconds=600) as cicada:\n",
                s->program, s->words);
    buf_str(out, "        agent = Agent(name=\"Analyst\", mcp_servers=[cicada])\n"
                 "        result = await Runner.run(agent, \"Plot sin(x) and save it as "
                 "sine.png\")\n"
                 "        print(result.final_output)\n\n"
                 "asyncio.run(main())\n\n"
                 "// JavaScript: npm install @openai/agents\n");
    if (s->url)
        buf_fmt(out,
                "import { Agent, run, MCPServerStreamableHttp } from '@openai/agents';\n\n"
                "const cicada = new MCPServerStreamableHttp({\n"
                "  name: 'cicada', url: '%s', cacheToolsList: true,\n"
                "  requestInit: { headers: { Authorization: `Bearer "
                "${process.env.CICADA_API_KEY}` } },\n",
                s->url);
    else
        buf_fmt(out,
                "import { Agent, run, MCPServerStdio } from '@openai/agents';\n\n"
                "const cicada = new MCPServerStdio({\n"
                "  name: 'cicada', command: '%s', args: %s, cacheToolsList: true,\n",
                s->program, s->words);
    buf_str(out, "  clientSessionTimeoutSeconds: 600,\n"
                 "});\n"
                 "await cicada.connect();\n"
                 "const agent = new Agent({ name: 'Analyst', mcpServers: [cicada] });\n"
                 "const result = await run(agent, 'Plot sin(x) and save it as sine.png');\n"
                 "console.log(result.finalOutput);\n"
                 "await cicada.close();\n");
}

static void langchain_text(const struct mcp_setup *s, struct buf *out)
{
    buf_str(out, "# Python: pip install langchain langchain-mcp-adapters\n"
                 "import asyncio, os\n"
                 "from langchain.agents import create_agent\n"
                 "from langchain_mcp_adapters.client import MultiServerMCPClient\n\n"
                 "async def main():\n"
                 "    client = MultiServerMCPClient({\"cicada\": {\n");
    if (s->url)
        buf_fmt(out,
                "        \"transport\": \"streamable_http\", \"url\": \"%s\",\n"
                "        \"headers\": {\"Authorization\": \"Bearer \" + "
                "os.environ[\"CICADA_API_KEY\"]}}})\n",
                s->url);
    else
        buf_fmt(out, "        \"transport\": \"stdio\", \"command\": \"%s\", \"args\": %s}})\n",
                s->program, s->words);
    buf_str(out, "    agent = create_agent(\"openai:gpt-5\", await client.get_tools())\n"
                 "    print(await agent.ainvoke({\"messages\": \"Plot sin(x) and save it as "
                 "sine.png\"}))\n\n"
                 "asyncio.run(main())\n\n"
                 "// JavaScript: npm install langchain @langchain/mcp-adapters\n"
                 "import { createAgent } from 'langchain';\n"
                 "import { MultiServerMCPClient } from '@langchain/mcp-adapters';\n\n"
                 "const client = new MultiServerMCPClient({ mcpServers: { cicada: {\n");
    if (s->url)
        buf_fmt(out,
                "  transport: 'http', url: '%s',\n"
                "  headers: { Authorization: `Bearer ${process.env.CICADA_API_KEY}` },\n",
                s->url);
    else
        buf_fmt(out, "  transport: 'stdio', command: '%s', args: %s,\n", s->program, s->words);
    buf_str(out, "  defaultToolTimeout: 600000,\n"
                 "} } });\n"
                 "const agent = createAgent({ model: 'openai:gpt-5', tools: await "
                 "client.getTools() });\n"
                 "console.log(await agent.invoke({ messages: 'Plot sin(x) and save it as "
                 "sine.png' }));\n"
                 "await client.close();\n");
}

/* ---- the clients ---- */

const struct mcp_client mcp_clients[] = {
    {.name = "claude-desktop",
     .title = "Claude Desktop",
     .file = "~/.config/Claude/claude_desktop_config.json",
     .member = "mcpServers",
     .also = "on macOS the file is ~/Library/Application Support/Claude/"
             "claude_desktop_config.json; restart Claude afterwards",
     .entry = desktop_entry},
    {.name = "claude-code",
     .title = "Claude Code, in the project of this directory",
     .file = ".mcp.json",
     .member = "mcpServers",
     .also = "for all your projects: claude mcp add --scope user",
     .entry = code_entry},
    {.name = "cursor",
     .title = "Cursor",
     .file = "~/.cursor/mcp.json",
     .member = "mcpServers",
     .entry = cursor_entry},
    {.name = "vscode",
     .title = "VS Code (GitHub Copilot), in the folder of this directory",
     .file = ".vscode/mcp.json",
     .member = "servers",
     .also = "for all your folders: the command `MCP: Open User Configuration`",
     .entry = vscode_entry},
    {.name = "windsurf",
     .title = "Windsurf",
     .file = "~/.codeium/windsurf/mcp_config.json",
     .member = "mcpServers",
     .entry = windsurf_entry},
    {.name = "codex",
     .title = "Codex",
     .form = MCP_FORM_TOML,
     .file = "~/.codex/config.toml",
     .text = codex_text},
    {.name = "goose",
     .title = "Goose",
     .form = MCP_FORM_TEXT,
     .file = "~/.config/goose/config.yaml",
     .also = "`goose configure` asks for the same",
     .text = goose_text},
    {.name = "openai-agents",
     .title = "OpenAI Agents SDK, Python and JavaScript",
     .form = MCP_FORM_TEXT,
     .text = agents_text},
    {.name = "langchain",
     .title = "LangChain, Python and JavaScript",
     .form = MCP_FORM_TEXT,
     .text = langchain_text},
};

const size_t mcp_client_count = sizeof mcp_clients / sizeof *mcp_clients;
