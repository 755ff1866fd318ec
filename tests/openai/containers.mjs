// Containers and the files in them.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { all, ask, calls, env, eventually, fails, logs, refused, runIn, script, sleep, test, using } from './kit.mjs';

const base = (file) => path.posix.basename(file.path);
const bytes = async (response) => Buffer.from(await response.arrayBuffer());

test('a container needs a name and nothing else', async (t) => {
  const made = await t.client.containers.create({ name: 'plain' });
  assert.match(made.id, /^cntr_[A-Za-z0-9_-]{1,59}$/);
  assert.equal(made.object, 'container');
  assert.equal(made.name, 'plain');
  assert.equal(made.status, 'running');
  assert.ok(Math.abs(made.created_at - Date.now() / 1000) < 60);
  const { _request_id: _, last_active_at: __, ...same } = await t.client.containers.retrieve(made.id);
  assert.deepEqual(same, Object.fromEntries(Object.entries(made).filter(([k]) => !['_request_id', 'last_active_at'].includes(k))));
});

test('a container says back what it was given', async (t) => {
  const made = await t.client.containers.create({
    name: 'full', memory_limit: '4g', expires_after: { anchor: 'last_active_at', minutes: 7 }, network_policy: { type: 'disabled' },
  });
  assert.equal(made.memory_limit, '4g');
  assert.deepEqual(made.expires_after, { anchor: 'last_active_at', minutes: 7 });
  assert.deepEqual(made.network_policy, { type: 'disabled' });
});

test('a wrong memory_limit, expires_after or network policy is named', async (t) => {
  const make = (more) => t.client.containers.create({ name: 'x', ...more });
  await fails(make({ memory_limit: '3g' }), 'BadRequestError', 400, { param: 'memory_limit' });
  await fails(make({ memory_limit: 4 }), 'BadRequestError', 400, { param: 'memory_limit' });
  await fails(make({ expires_after: { anchor: 'created_at', minutes: 1 } }), 'BadRequestError', 400, { param: /^expires_after/ });
  await fails(make({ expires_after: { anchor: 'last_active_at' } }), 'BadRequestError', 400, { param: /^expires_after/ });
  await fails(make({ network_policy: { type: 'allowlist', allowed_domains: ['example.org'] } }), 'BadRequestError', 400,
    { param: /^network_policy/ });
  assert.equal((await t.client.containers.list()).data.length, 0);
});

test('a container without a name is refused', async (t) => {
  await fails(t.client.containers.create({}), 'BadRequestError', 400, { param: 'name', code: 'missing_required_parameter' });
});

test('containers are listed newest first, twenty at a time', async (t) => {
  const made = [];
  for (let i = 0; i < 22; i += 1) made.push((await t.client.containers.create({ name: `c${i}` })).id);
  const page = await t.client.containers.list();
  assert.deepEqual(page.data.map((c) => c.id), made.toReversed().slice(0, 20));
  assert.equal(page.has_more, true);
  assert.deepEqual((await page.getNextPage()).data.map((c) => c.id), made.toReversed().slice(20));
});

test('paging over 45 containers, 20 at a time, misses none and repeats none', async (t) => {
  const made = [];
  for (let i = 0; i < 45; i += 1) made.push((await t.client.containers.create({ name: 'many' })).id);
  assert.deepEqual((await all(t.client.containers.list({ limit: 20, order: 'asc' }))).map((c) => c.id), made);
  // What is made meanwhile is newer than all of it, and does not come between.
  const seen = [];
  for await (const one of t.client.containers.list({ limit: 20, order: 'desc' })) {
    seen.push(one.id);
    if (seen.length % 20 === 0) await t.client.containers.create({ name: 'between' });
  }
  assert.deepEqual(seen, made.toReversed());
});

test('a page can follow a container that is gone', async (t) => {
  const made = [];
  for (let i = 0; i < 4; i += 1) made.push((await t.client.containers.create({ name: 'x' })).id);
  await t.client.containers.delete(made[1]);
  const page = await t.client.containers.list({ order: 'asc', after: made[1] });
  assert.deepEqual(page.data.map((c) => c.id), made.slice(2));
});

test('a wrong limit or order is refused', async (t) => {
  await fails(t.client.containers.list({ limit: 0 }), 'BadRequestError', 400, { param: 'limit' });
  await fails(t.client.containers.list({ limit: 101 }), 'BadRequestError', 400, { param: 'limit' });
  await fails(t.client.containers.list({ order: 'up' }), 'BadRequestError', 400, { param: 'order' });
});

test('containers are found by name', async (t) => {
  await t.client.containers.create({ name: 'red' });
  const blue = await t.client.containers.create({ name: 'blue' });
  assert.deepEqual((await t.client.containers.list({ name: 'blue' })).data.map((c) => c.id), [blue.id]);
});

test('looking at a container is using it', async (t) => {
  const made = await t.client.containers.create({ name: 'seen' });
  await eventually(async () => (await t.client.containers.retrieve(made.id)).last_active_at > made.last_active_at, 'last_active_at moves', 10);
});

test('a deleted container is gone', async (t) => {
  const made = await t.client.containers.create({ name: 'short' });
  assert.deepEqual(await t.client.delete(`/containers/${made.id}`), { id: made.id, object: 'container.deleted', deleted: true });
  await fails(t.client.containers.retrieve(made.id), 'NotFoundError', 404);
  await fails(t.client.containers.delete(made.id), 'NotFoundError', 404);
  await refused(t.client.responses.create({ model: 'scripted-1', input: script({ code: '1' }), tools: [using(made.id)] }), 400, 404);
});

test('an expired container sleeps, and wakes under the same id with its variables and files', async (t) => {
  const made = await t.client.containers.create({ name: 'sleeper', expires_after: { anchor: 'last_active_at', minutes: 1 } });
  await runIn(t.client, made.id, "x = 41\nopen('/mnt/data/kept.txt', 'w').write('kept')");
  await sleep(63000);
  const old = await t.client.containers.retrieve(made.id);
  assert.equal(old.id, made.id);
  assert.equal((await runIn(t.client, made.id, "print(x + 1, open('/mnt/data/kept.txt').read())")).trim(), '42 kept');
  assert.equal((await t.client.containers.retrieve(made.id)).status, 'running');
}, { seconds: 70 });

test('with strict_expiry an expired container is expired', async (t) => {
  const client = await t.strict();
  const made = await client.containers.create({ name: 'strict', expires_after: { anchor: 'last_active_at', minutes: 1 } });
  await sleep(63000);
  const old = await client.containers.retrieve(made.id);
  assert.equal(old.status, 'expired');
  assert.equal(old.name, 'strict');
  await fails(client.responses.create({ model: 'scripted-1', input: script({ code: '1' }), tools: [using(made.id)] }), 'BadRequestError', 400,
    { message: /Container is expired\./ });
}, { seconds: 70 });

test('files named at creation are in the container', async (t) => {
  const a = await t.client.files.create({ file: new File(['a,b\n1,2\n'], 'table.csv'), purpose: 'user_data' });
  const b = await t.client.files.create({ file: new File(['second'], 'second.txt'), purpose: 'assistants' });
  const made = await t.client.containers.create({ name: 'x', file_ids: [a.id, b.id] });
  assert.deepEqual((await all(t.client.containers.files.list(made.id))).map((f) => f.path).sort(),
    ['/mnt/data/second.txt', '/mnt/data/table.csv']);
  assert.equal((await runIn(t.client, made.id, "print(open('/mnt/data/table.csv').read())")).trim(), 'a,b\n1,2');
});

test('a container of files that do not exist is not made', async (t) => {
  await refused(t.client.containers.create({ name: 'x', file_ids: ['file-none'] }), 400, 404);
  assert.equal((await t.client.containers.list()).data.length, 0);
});

// ---- files ----

test('a ReadStream lands in a container', async (t) => {
  const local = path.join(env.scratch, `${process.pid} stream.csv`);
  fs.writeFileSync(local, 'q,r\n'.repeat(50000));
  const made = await t.client.containers.create({ name: 'x' });
  const file = await t.client.containers.files.create(made.id, { file: fs.createReadStream(local) });
  assert.match(file.id, /^cfile_[A-Za-z0-9_-]{1,58}$/);
  assert.equal(file.object, 'container.file');
  assert.equal(file.container_id, made.id);
  assert.equal(file.bytes, 200000);
  assert.equal(file.source, 'user');
  assert.equal(file.path, `/mnt/data/${path.basename(local)}`);
  assert.deepEqual(await bytes(await t.client.containers.files.content.retrieve(file.id, { container_id: made.id })), fs.readFileSync(local));
});

test('a File lands in a container, and code reads it', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  const file = await t.client.containers.files.create(made.id, { file: new File(['from a File'], 'f.txt') });
  const { _request_id: _, ...got } = await t.client.containers.files.retrieve(file.id, { container_id: made.id });
  assert.deepEqual(got, Object.fromEntries(Object.entries(file).filter(([k]) => k !== '_request_id')));
  assert.equal((await runIn(t.client, made.id, "print(open('/mnt/data/f.txt').read())")).trim(), 'from a File');
});

test('a file_id lands in a container', async (t) => {
  const file = await t.client.files.create({ file: new File(['by id'], 'id.txt'), purpose: 'user_data' });
  const made = await t.client.containers.create({ name: 'x' });
  const there = await t.client.containers.files.create(made.id, { file_id: file.id });
  assert.equal(there.path, '/mnt/data/id.txt');
  assert.equal(there.bytes, 5);
  await t.client.files.delete(file.id);
  await fails(t.client.files.retrieve(file.id), 'NotFoundError', 404);
  assert.equal(await (await t.client.containers.files.content.retrieve(there.id, { container_id: made.id })).text(), 'by id');
});

test('neither a file nor a file_id is refused, and a file_id that does not exist', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  const answer = await t.fetch(`/containers/${made.id}/files`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}',
  });
  assert.equal(answer.status, 400);
  const form = new FormData();
  form.set('other', 'x');
  assert.equal((await t.fetch(`/containers/${made.id}/files`, { method: 'POST', body: form })).status, 400);
  await refused(t.client.containers.files.create(made.id, { file_id: 'file-none' }), 400, 404);
});

test('names of files: Unicode, quotes, blanks, and none that lead elsewhere', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  for (const name of ['Größe 表 🎲.csv', 'a "b" \'c\'.txt', ' blanks  inside .txt', 'percent%20.txt', 'semi;colon=.txt']) {
    const file = await t.client.containers.files.create(made.id, { file: new File([name], name) });
    assert.ok(file.path.startsWith('/mnt/data/'), file.path);
    // Quotes come as %22: that is how forms are written.
    assert.ok([name, name.trim(), name.replaceAll('"', '%22')].includes(base(file)), base(file));
    assert.equal(await (await t.client.containers.files.content.retrieve(file.id, { container_id: made.id })).text(), name);
  }
  for (const name of ['../../etc/passwd', '/etc/passwd', '..', '.']) {
    const boundary = 'x'.repeat(20);
    const body = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\nevil\r\n--${boundary}--\r\n`;
    const answer = await t.fetch(`/containers/${made.id}/files`, {
      method: 'POST', headers: { 'content-type': `multipart/form-data; boundary=${boundary}` }, body,
    });
    const got = await answer.json();
    if (answer.status === 200) {
      assert.match(got.path, /^\/mnt\/data\/[^/]+$/);
      assert.notEqual(base(got), '..');
    } else {
      assert.equal(answer.status, 400, JSON.stringify(got));
    }
  }
});

test('files that code wrote are listed, with their directories', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  await t.client.containers.files.create(made.id, { file: new File(['u'], 'user.txt') });
  await runIn(t.client, made.id, "import os\nos.makedirs('/mnt/data/a/b')\nopen('/mnt/data/a/b/c.txt', 'w').write('deep')");
  const files = await all(t.client.containers.files.list(made.id));
  const deep = files.find((f) => f.path === '/mnt/data/a/b/c.txt');
  assert.ok(deep, JSON.stringify(files));
  assert.equal(deep.source, 'assistant');
  assert.equal(files.find((f) => f.path === '/mnt/data/user.txt').source, 'user');
  assert.equal(await (await t.client.containers.files.content.retrieve(deep.id, { container_id: made.id })).text(), 'deep');
});

for (const size of [0, 1, 64 << 20]) {
  test(`${size} bytes come back as they went`, async (t) => {
    const sent = crypto.randomBytes(size);
    const made = await t.client.containers.create({ name: 'x' });
    const file = await t.client.containers.files.create(made.id, { file: new File([sent], 'blob.bin') });
    assert.equal(file.bytes, size);
    const got = await bytes(await t.client.containers.files.content.retrieve(file.id, { container_id: made.id }));
    assert.ok(sent.equals(got), `${got.length} bytes came`);
  });
}

test('parts of a file, and nothing when it has not changed', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  const file = await t.client.containers.files.create(made.id, { file: new File(['0123456789'], 'digits.txt') });
  const at = { container_id: made.id };
  const part = await t.client.containers.files.content.retrieve(file.id, at, { headers: { range: 'bytes=2-4' } });
  assert.equal(part.status, 206);
  assert.equal(await part.text(), '234');
  const whole = await t.client.containers.files.content.retrieve(file.id, at);
  assert.match(whole.headers.get('content-disposition'), /^attachment/);
  assert.match(whole.headers.get('content-disposition'), /digits\.txt/);
  assert.match(whole.headers.get('content-type'), /^text\/plain/);
  assert.equal(whole.headers.get('content-length'), '10');
  const again = await t.fetch(`/containers/${made.id}/files/${file.id}/content`, { headers: { 'if-none-match': whole.headers.get('etag') } });
  assert.equal(again.status, 304);
});

test('a deleted file is gone from /mnt/data', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  const file = await t.client.containers.files.create(made.id, { file: new File(['x'], 'gone.txt') });
  assert.equal((await runIn(t.client, made.id, "import os\nprint(os.listdir('/mnt/data'))")).trim(), "['gone.txt']");
  assert.deepEqual(await t.client.delete(`/containers/${made.id}/files/${file.id}`),
    { id: file.id, object: 'container.file.deleted', deleted: true });
  assert.equal((await runIn(t.client, made.id, "print(os.listdir('/mnt/data'))")).trim(), '[]');
  await fails(t.client.containers.files.retrieve(file.id, { container_id: made.id }), 'NotFoundError', 404);
  assert.equal((await t.client.containers.files.list(made.id)).data.length, 0);
});

test('a file that code wrote anew keeps its path and id', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  const file = await t.client.containers.files.create(made.id, { file: new File(['one'], 'same.txt') });
  await runIn(t.client, made.id, "open('/mnt/data/same.txt', 'w').write('number two')");
  const files = await all(t.client.containers.files.list(made.id));
  assert.deepEqual(files.map((f) => [f.id, f.path, f.bytes]), [[file.id, '/mnt/data/same.txt', 10]]);
  assert.equal(await (await t.client.containers.files.content.retrieve(file.id, { container_id: made.id })).text(), 'number two');
});

test('a file of another container is not found', async (t) => {
  const one = await t.client.containers.create({ name: 'one' });
  const two = await t.client.containers.create({ name: 'two' });
  const file = await t.client.containers.files.create(one.id, { file: new File(['x'], 'x.txt') });
  const there = { container_id: two.id };
  await fails(t.client.containers.files.retrieve(file.id, there), 'NotFoundError', 404);
  await fails(t.client.containers.files.content.retrieve(file.id, there), 'NotFoundError', 404);
  await fails(t.client.containers.files.delete(file.id, there), 'NotFoundError', 404);
});

test('links, pipes and sockets are not files', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  await runIn(t.client, made.id, `
import os, socket
open('/mnt/data/real.txt', 'w').write('x')
os.symlink('/etc/passwd', '/mnt/data/link')
os.symlink('real.txt', '/mnt/data/inside')
for special in (lambda: os.mkfifo('/mnt/data/pipe'), lambda: socket.socket(socket.AF_UNIX).bind('/mnt/data/socket')):
    try:
        special()
    except OSError:
        pass`);
  assert.deepEqual((await all(t.client.containers.files.list(made.id))).map((f) => f.path), ['/mnt/data/real.txt']);
});

test('files of a container are paged', async (t) => {
  const made = await t.client.containers.create({ name: 'x' });
  await runIn(t.client, made.id, "for i in range(45):\n    open(f'/mnt/data/{i:02}.txt', 'w').write(str(i))");
  for (const order of ['asc', 'desc']) {
    const found = await all(t.client.containers.files.list(made.id, { limit: 20, order }));
    assert.equal(new Set(found.map((f) => f.id)).size, 45, `${found.length} in order ${order}`);
    assert.equal(found.length, 45);
  }
});

test('two containers of one principal know nothing of each other', async (t) => {
  const one = await t.client.containers.create({ name: 'one' });
  const two = await t.client.containers.create({ name: 'two' });
  await runIn(t.client, one.id, "x = 1\nopen('/mnt/data/one.txt', 'w').write('x')");
  const response = await ask(t, [{ code: "import os\nprint(os.listdir('/mnt/data'))\nprint(x)" }, { say: '.' }], { tools: [using(two.id)] });
  assert.match(logs(calls(response)[0]), /\[\][\s\S]*NameError/);
});
