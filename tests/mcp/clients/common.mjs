// What every client is asked to do, through whatever interface it has. A script makes a `client`:
//
//     list()                       the tools
//     call(name, args, options)    a result {content, structuredContent, isError}; options: signal, onprogress
//     read(uri)                    the contents of a resource; missing: the client cannot
//     close()
//
// and gives it to `tasks`. Each check prints a line "ok   WHAT" or "FAIL WHAT".

export const url = process.env.MCP_URL;
export const key = process.env.MCP_KEY;
export const program = process.env.CICADA;
// The environment of `cicada mcp`: on the socket no key is needed.
export const stdioEnv = { PATH: process.env.PATH, HOME: process.env.HOME, CICADA_SOCKET: process.env.CICADA_SOCKET };
const longS = Number(process.env.MCP_LONG_S || 20);

export function check(what, ok, detail) {
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${what}`);
  if (!ok && detail !== undefined) console.log('     ' + JSON.stringify(detail)?.slice(0, 1500));
  return ok;
}

export const text = (result) => (result.content ?? []).filter((b) => b.type === 'text').map((b) => b.text).join('\n');
const isPng = (base64) => Buffer.from(base64 ?? '', 'base64').subarray(1, 4).toString() === 'PNG';
const sessionOf = (result) => /session_id: (ses_\w+)/.exec(text(result))?.[1];

const chart = `
import matplotlib.pyplot as plt
plt.plot([1, 4, 9, 16])
plt.savefig('/mnt/data/NAME.png')
plt.show()
print('drawn')`;

// Output every second, for as long as a client would have to wait for it.
const slow = (seconds) => `
import time
for i in range(${seconds}):
    print('step', i, flush=True)
    time.sleep(1)
print('finished')`;

async function eventually(look) {
  const end = Date.now() + 60000;
  for (;;) {
    const found = await look();
    if (found.ok || Date.now() > end) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function lists(who, client) {
  const names = (await client.list()).map((t) => t.name);
  const wanted = ['run_code', 'get_execution', 'manage_session', 'list_files', 'read_file', 'write_file', 'edit_file',
    'search_files', 'transfer_url'];
  check(`${who}: lists the tools`, wanted.every((n) => names.includes(n)), names);
}

async function draws(who, client, name) {
  const drawn = await client.call('run_code', { code: chart.replaceAll('NAME', name) });
  const image = drawn.content.find((b) => b.type === 'image');
  check(`${who}: runs code with a chart`, text(drawn).includes('drawn') && isPng(image?.data), drawn.content);
  const shown = await client.call('read_file', { path: `${name}.png` });
  check(`${who}: reads the image as a file`, isPng(shown.content.find((b) => b.type === 'image')?.data), text(shown));
  const link = shown.content.concat(drawn.content).find((b) => b.type === 'resource_link');
  if (client.read) {
    const contents = await client.read(link.uri);
    check(`${who}: reads the image as a resource`, isPng(contents[0]?.blob), contents);
  }
}

async function writes(who, client, name) {
  const word = `zebra${name.replaceAll(/[^a-z0-9]/g, '')}`;
  const written = await client.call('write_file', { path: `notes/${name}.md`, content: `# Notes\n\nThe ${word} sleeps.\n` });
  check(`${who}: writes a file`, !written.isError, text(written));
  const found = await eventually(async () => {
    const hits = await client.call('search_files', { query: word });
    return { ok: text(hits).includes(`notes/${name}.md`), hits };
  });
  check(`${who}: finds it by a word in it`, found.ok, text(found.hits));
}

async function fails(who, client) {
  const failed = await client.call('run_code', { code: 'total = 7\ntotal / 0' });
  const session_id = sessionOf(failed);
  check(`${who}: a failing run tells where and why`, text(failed).includes('ZeroDivisionError') && session_id, failed);
  const mended = await client.call('run_code', { code: 'total / 2', session_id });
  check(`${who}: and the session goes on`, text(mended).includes('3.5'), text(mended));
}

async function cancels(who, client) {
  const made = await client.call('run_code', { code: 'kept = 1' });
  const session_id = sessionOf(made);
  const controller = new AbortController();
  const code = "import time\nprint('begun', flush=True)\ntime.sleep(500)";
  // Clients that tell of progress cancel when the run has begun; the others when the server says so.
  const begun = client.tellsProgress
    ? { onprogress: () => controller.abort('enough') }
    : (eventually(async () => {
        const listed = await client.call('manage_session', { action: 'list' });
        return { ok: text(listed).split('\n').some((l) => l.includes(session_id) && /running|busy/.test(l)) };
      }).then(() => controller.abort('enough')), {});
  let refused = false;
  try {
    await client.call('run_code', { code, session_id, timeout_s: 600 }, { signal: controller.signal, ...begun });
  } catch {
    refused = true;
  }
  check(`${who}: a call can be cancelled`, refused && controller.signal.aborted);
  const before = Date.now();
  const next = await client.call('run_code', { code: 'kept + 1', session_id });
  check(`${who}: and the run is stopped, its session is not`, text(next).includes('result: 2') && Date.now() - before < 60000,
    text(next));
}

// Some clients give the structured content as JSON instead of the text.
const runThatGoesOn = (result) => /\bstatus"?: ?"?running\b/.test(text(result)) && /\bexecution_id"?: ?"?(run_\w+)/.exec(text(result))[1];

async function waits(who, client) {
  const messages = [];
  let done = await client.call('run_code', { code: slow(longS), timeout_s: longS + 60 },
    { onprogress: (p) => messages.push(p) });
  // Who hears of no progress is answered before it would give up, and comes back.
  for (let id; !client.tellsProgress && (id = runThatGoesOn(done)); )
    done = await client.call('get_execution', { execution_id: id, wait_s: 50 });
  check(`${who}: a run of ${longS} s comes to its end`, text(done).includes('finished'), text(done).slice(-500));
  if (client.tellsProgress) {
    const grows = messages.every((p, i) => i === 0 || p.progress > messages[i - 1].progress);
    check(`${who}: and tells of its progress, with its output`,
      messages.length >= longS / 5 && grows && messages.some((p) => /step \d/.test(p.message ?? '')), messages.slice(0, 5));
  }
}

export async function tasks(who, client) {
  const name = who.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase();
  for (const task of [lists, draws, writes, fails, ...(client.cannotCancel ? [] : [cancels]), waits]) {
    try {
      await task(who, client, name);
    } catch (error) {
      check(`${who}: ${task.name}`, false, String(error?.stack ?? error));
    }
  }
}

// Runs a script's parts; whatever goes wrong outside of a check is a failure, too.
export async function main(parts) {
  const only = process.argv[2];
  for (const [who, part] of Object.entries(parts)) {
    if (only && !who.includes(only)) continue;
    try {
      await part(who);
    } catch (error) {
      check(who, false, String(error?.stack ?? error));
    }
  }
  process.exit(0);
}
