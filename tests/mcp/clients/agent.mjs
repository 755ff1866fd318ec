// A transcript of an agent: what a model would do that has these tools and nothing else. It sees only the text of
// the replies; what it writes next follows from that. First a conversation over HTTP, then another one, by
// another client, over stdio, that has only the files.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { check, key, main, program, stdioEnv, text, url } from './common.mjs';

const cities = { Beijing: 5, Shanghai: 4, Lagos: 3, Lima: 2.5, Oslo: 2, Quito: 1, Bern: 0.5 };
const rows = [];
for (const [city, weight] of Object.entries(cities))
  for (let month = 1; month <= 12; month++)
    rows.push(`2025-${String(month).padStart(2, '0')}-15,${city},${Math.round(weight * 1000 + month * 10)}`);
rows.push('2025-06-20,Bern,900000'); // an outlier
const csv = `date,city,amount\n${rows.join('\n')}\n`;

class Conversation {
  constructor(transport, mode) {
    this.client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode } });
    this.transport = transport;
  }
  async begin() {
    await this.client.connect(this.transport);
  }
  // A tool by its name, as a model calls it; what comes back is what a model reads.
  async use(name, args) {
    const result = await this.client.callTool({ name, arguments: args }, { timeout: 300000 });
    return { text: text(result), blocks: result.content, isError: result.isError === true };
  }
  // Code goes on in the session that the first reply named.
  async run(code) {
    const reply = await this.use('run_code', { code, ...(this.session && { session_id: this.session }) });
    this.session ??= /session_id: (ses_\w+)/.exec(reply.text)?.[1];
    return reply;
  }
}

const hasImage = (reply) => reply.blocks.some((b) => b.type === 'image' && b.mimeType.startsWith('image/'));

async function analyses(who) {
  const a = new Conversation(new StreamableHTTPClientTransport(new URL(url),
    { requestInit: { headers: { Authorization: `Bearer ${key}` } } }), 'auto');
  await a.begin();
  let reply = await a.use('write_file', { path: 'sales/sales.csv', content: csv });
  check(`${who}: uploads a CSV`, !reply.isError && /version 1/.test(reply.text), reply.text);

  reply = await a.use('read_file', { path: 'sales/sales.csv', limit: 5 });
  check(`${who}: looks at it`, /date.*city.*amount/s.test(reply.text), reply.text);

  reply = await a.run("import pandas as pd\ndf = pd.read_csv('/mnt/data/sales/sales.csv')\n"
    + "df.groupby('town')['amount'].sum().nlargest(5)");
  check(`${who}: a mistake comes back as a traceback`, /KeyError: 'town'/.test(reply.text) && /line 3/.test(reply.text), reply.text);
  reply = await a.run('list(df.columns)');
  const column = /'(cit\w+)'/.exec(reply.text)?.[1];
  check(`${who}: and the variables are still there to look at`, column === 'city', reply.text);

  reply = await a.run(`df.groupby('${column}')['amount'].sum().nlargest(5)`);
  check(`${who}: mended, it answers which five cities sell most`,
    ['Bern', 'Beijing', 'Shanghai', 'Lagos', 'Lima'].every((c) => reply.text.includes(c)), reply.text);

  reply = await a.run(`q1, q3 = df['amount'].quantile([.25, .75])
iqr = q3 - q1
clean = df[df['amount'].between(q1 - 1.5 * iqr, q3 + 1.5 * iqr)]
print('dropped', len(df) - len(clean), 'of', len(df))
clean.to_csv('/mnt/data/sales/clean.csv', index=False)
round(clean['amount'].std(), 1)`);
  check(`${who}: removes what lies outside and takes the standard deviation`, /dropped 1 of 85/.test(reply.text), reply.text);

  reply = await a.run(`import matplotlib.pyplot as plt
clean = clean.assign(quarter=pd.to_datetime(clean['date']).dt.to_period('Q').astype(str))
trend = clean.groupby(['quarter', 'city'])['amount'].sum().unstack()
trend.plot.bar(title='Sales by quarter')
plt.savefig('/mnt/data/sales/trend.png')
plt.show()
print(trend.sum(axis=1).to_dict())`);
  check(`${who}: draws the trend of the quarters`, hasImage(reply) && /2025Q4/.test(reply.text), reply.text);

  reply = await a.run(`from PIL import Image, ImageDraw
image = Image.open('/mnt/data/sales/trend.png')
image = image.resize((800, int(image.height * 800 / image.width)))
ImageDraw.Draw(image).text((10, image.height - 30), 'draft', fill=(0, 0, 0))
image.save('/mnt/data/sales/trend-800.png')
image.size`);
  check(`${who}: makes an image of another size, with a mark`, /\(800, \d+\)/.test(reply.text), reply.text);

  reply = await a.run(`fig = plt.figure()
fig.text(.1, .8, 'Minutes of the meeting about walrus logistics')
fig.savefig('/mnt/data/sales/minutes.pdf')
plt.close(fig)
from pypdf import PdfReader
words = ' '.join(page.extract_text() for page in PdfReader('/mnt/data/sales/minutes.pdf').pages)
open('/mnt/data/sales/minutes.md', 'w').write('# Minutes\\n\\n' + words + '\\n')
words`);
  check(`${who}: makes Markdown of a PDF`, /walrus logistics/.test(reply.text), reply.text);

  reply = await a.use('write_file', { path: 'sales/report.md',
    content: '# Quarterly revenue\n\nThe northern harbour outperforms every other branch.\n\n![trend](trend.png)\n' });
  check(`${who}: writes a report`, !reply.isError, reply.text);
  reply = await a.use('list_files', { path: 'sales' });
  check(`${who}: finds all of it in the workspace`,
    ['clean.csv', 'minutes.md', 'report.md', 'sales.csv', 'trend.png', 'trend-800.png'].every((n) => reply.text.includes(n)), reply.text);
  await a.client.close();
}

async function goesOn(who) {
  const b = new Conversation(new StdioClientTransport({ command: program, args: ['mcp'], env: stdioEnv }), 'legacy');
  await b.begin();
  let reply = await b.run('df.shape');
  check(`${who}: nothing of the other session is here`, /NameError/.test(reply.text), reply.text);

  let path;
  for (const end = Date.now() + 60000; !path && Date.now() < end;) {
    reply = await b.use('search_files', { query: 'northern harbour branch' });
    path = /(\S+report\.md)/.exec(reply.text)?.[1];
    if (!path) await new Promise((resolve) => setTimeout(resolve, 200));
  }
  check(`${who}: but the report is found by what is in it`, path === 'sales/report.md', reply.text);
  reply = await b.use('read_file', { path: 'sales/report.md' });
  check(`${who}: and read`, /outperforms/.test(reply.text), reply.text);
  reply = await b.run("import pandas as pd\npd.read_csv('/mnt/data/sales/clean.csv')['amount'].count()");
  check(`${who}: what was computed is used again`, /84/.test(reply.text), reply.text);

  reply = await b.use('edit_file', { path: 'sales/report.md',
    edits: [{ old_text: 'every other branch', new_text: 'every other branch but one' }] });
  check(`${who}: a sentence is changed, and the change is shown`, /\+.*but one/.test(reply.text), reply.text);
  reply = await b.use('file_versions', { action: 'diff', path: 'sales/report.md' });
  check(`${who}: both versions are there`, /-.*other branch\./.test(reply.text) && /\+.*but one\./.test(reply.text), reply.text);

  reply = await b.use('share', { action: 'create', path: 'sales/report.md', expires_s: 3600 });
  const link = /https?:\/\/\S+\/s\/\w+/.exec(reply.text)?.[0];
  check(`${who}: a link is made`, !!link, reply.text);
  const page = link && await fetch(link);
  check(`${who}: and opens without a key`, page?.status === 200 && /report\.md/.test(await page.text()), page?.status);
  const file = link && await fetch(`${link}/files/report.md`);
  check(`${who}: and gives the file as it is now`, file?.status === 200 && /but one\./.test(await file.text()), file?.status);
  await b.client.close();
}

await main({ 'agent': analyses, 'agent, next day': goesOn });
