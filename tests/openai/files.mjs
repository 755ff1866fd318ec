// Files and uploads.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { all, env, fails, refused, runIn, test } from './kit.mjs';

const upload = (t, bytes, more = {}) => t.client.uploads.create(
  { filename: 'big.csv', purpose: 'user_data', bytes, mime_type: 'text/csv', ...more });
const part = (t, id, data) => t.client.uploads.parts.create(id, { data: new File([data], 'blob') });
const md5 = (data) => crypto.createHash('md5').update(data).digest('hex');

test('a file is stored, whatever comes first in the form', async (t) => {
  const made = await t.client.files.create({ file: new File(['hello'], 'hello.txt'), purpose: 'user_data' });
  assert.match(made.id, /^file-[A-Za-z0-9_-]{1,59}$/);
  assert.equal(made.bytes, 5);
  assert.equal(made.filename, 'hello.txt');
  assert.equal(made.purpose, 'user_data');
  assert.equal(made.status, 'processed');
  assert.equal(made.expires_at ?? null, null);
  const other = await t.client.files.create({ purpose: 'assistants', file: new File(['hello'], 'hello.txt') });
  assert.notEqual(other.id, made.id); // two files of one name
  const { _request_id: _, ...got } = await t.client.files.retrieve(made.id);
  assert.deepEqual(got, Object.fromEntries(Object.entries(made).filter(([k]) => k !== '_request_id')));
});

test('a ReadStream becomes a file', async (t) => {
  const local = path.join(env.scratch, `${process.pid}-local.bin`);
  fs.writeFileSync(local, crypto.randomBytes(3 << 20));
  const made = await t.client.files.create({ file: fs.createReadStream(local), purpose: 'user_data' });
  assert.equal(made.filename, path.basename(local));
  const got = Buffer.from(await (await t.client.files.content(made.id)).arrayBuffer());
  assert.equal(md5(got), md5(fs.readFileSync(local)));
});

test('a buffer becomes a file by toFile, with a Unicode name', async (t) => {
  const made = await t.client.files.create({ file: await t.package.toFile(Buffer.from('x'), 'Übersicht 表.csv'), purpose: 'user_data' });
  assert.equal(made.filename, 'Übersicht 表.csv');
});

test('a file needs a purpose that is known, and a file', async (t) => {
  await fails(t.client.files.create({ file: new File(['x'], 'x'), purpose: 'fun' }), 'BadRequestError', 400, { param: 'purpose' });
  const form = new FormData();
  form.set('file', new File(['x'], 'x'));
  assert.equal((await t.fetch('/files', { method: 'POST', body: form })).status, 400);
  const empty = new FormData();
  empty.set('purpose', 'user_data');
  assert.equal((await t.fetch('/files', { method: 'POST', body: empty })).status, 400);
  assert.equal((await t.client.files.list()).data.length, 0);
});

test('files expire between an hour and thirty days, and not otherwise', async (t) => {
  const make = (seconds) => t.client.files.create({
    file: new File(['x'], 'x.txt'), purpose: 'user_data', expires_after: { anchor: 'created_at', seconds },
  });
  for (const seconds of [3600, 2592000]) {
    const made = await make(seconds);
    assert.equal(made.expires_at, made.created_at + seconds);
  }
  for (const seconds of [3599, 2592001]) await fails(make(seconds), 'BadRequestError', 400, { param: /^expires_after/ });
});

test('files are listed by purpose, and paged', async (t) => {
  const made = [];
  for (let i = 0; i < 25; i += 1) {
    made.push(await t.client.files.create({ file: new File([`${i}`], `${i}.txt`), purpose: i % 5 ? 'user_data' : 'assistants' }));
  }
  const ids = made.map((f) => f.id);
  assert.deepEqual((await all(t.client.files.list({ limit: 10, order: 'asc' }))).map((f) => f.id), ids);
  assert.deepEqual((await all(t.client.files.list({ limit: 10 }))).map((f) => f.id), ids.toReversed());
  assert.deepEqual((await all(t.client.files.list({ purpose: 'assistants', limit: 2, order: 'asc' }))).map((f) => f.id),
    made.filter((f) => f.purpose === 'assistants').map((f) => f.id));
  assert.equal((await t.client.files.list()).data.length, 25); // many at a time unless told otherwise
});

test('waitForProcessing does not wait', async (t) => {
  const made = await t.client.files.create({ file: new File(['x'], 'x.txt'), purpose: 'user_data' });
  const began = Date.now();
  assert.equal((await t.client.files.waitForProcessing(made.id)).status, 'processed');
  assert.ok(Date.now() - began < 4000);
}, { alone: true });

test('the content of a file comes as it went, and in parts', async (t) => {
  const sent = crypto.randomBytes(1 << 20);
  const made = await t.client.files.create({ file: new File([sent], 'image.png'), purpose: 'vision' });
  const response = await t.client.files.content(made.id);
  assert.equal(md5(Buffer.from(await response.arrayBuffer())), md5(sent));
  const piece = await t.client.files.content(made.id, { headers: { range: 'bytes=-16' } });
  assert.deepEqual(Buffer.from(await piece.arrayBuffer()), sent.subarray(-16));
});

test('a deleted file is gone, its copy in a container stays', async (t) => {
  const made = await t.client.files.create({ file: new File(['stays'], 'stays.txt'), purpose: 'user_data' });
  const container = await t.client.containers.create({ name: 'x', file_ids: [made.id] });
  const { _request_id: _, ...gone } = await t.client.files.delete(made.id);
  assert.deepEqual(gone, { id: made.id, object: 'file', deleted: true });
  await fails(t.client.files.retrieve(made.id), 'NotFoundError', 404, { message: /file-/ });
  await fails(t.client.files.content(made.id), 'NotFoundError', 404);
  await fails(t.client.files.delete(made.id), 'NotFoundError', 404);
  assert.equal((await runIn(t.client, container.id, "print(open('/mnt/data/stays.txt').read())")).trim(), 'stays');
});

test('what code changes in a container does not change the file', async (t) => {
  const made = await t.client.files.create({ file: new File(['first'], 'f.txt'), purpose: 'user_data' });
  const container = await t.client.containers.create({ name: 'x', file_ids: [made.id] });
  await runIn(t.client, container.id, "open('/mnt/data/f.txt', 'w').write('other')");
  assert.equal(await (await t.client.files.content(made.id)).text(), 'first');
});

// ---- uploads ----

test('three parts, sent in another order, become one file', async (t) => {
  const pieces = [crypto.randomBytes(1 << 20), crypto.randomBytes(5), crypto.randomBytes(70000)];
  const whole = Buffer.concat(pieces);
  const made = await upload(t, whole.length);
  assert.match(made.id, /^upload_/);
  assert.equal(made.status, 'pending');
  assert.equal(made.expires_at, made.created_at + 3600);
  const ids = [];
  for (const i of [2, 0, 1]) {
    const one = await part(t, made.id, pieces[i]);
    assert.match(one.id, /^part_/);
    assert.equal(one.upload_id, made.id);
    ids[i] = one.id;
  }
  const done = await t.client.uploads.complete(made.id, { part_ids: ids, md5: md5(whole) });
  assert.equal(done.status, 'completed');
  assert.equal(done.file.bytes, whole.length);
  assert.equal(done.file.filename, 'big.csv');
  assert.equal(done.file.purpose, 'user_data');
  const got = Buffer.from(await (await t.client.files.content(done.file.id)).arrayBuffer());
  assert.equal(md5(got), md5(whole));
  await refused(part(t, made.id, 'more'), 400);
});

test('parts may come at once', async (t) => {
  const pieces = Array.from({ length: 8 }, (_, i) => Buffer.alloc(100000, i));
  const made = await upload(t, 800000);
  const ids = (await Promise.all(pieces.map((piece) => part(t, made.id, piece)))).map((p) => p.id);
  const done = await t.client.uploads.complete(made.id, { part_ids: ids });
  const got = Buffer.from(await (await t.client.files.content(done.file.id)).arrayBuffer());
  assert.equal(md5(got), md5(Buffer.concat(pieces)));
});

test('an upload of another size than it said is refused', async (t) => {
  const made = await upload(t, 10);
  const one = await part(t, made.id, 'eleven byte');
  await refused(t.client.uploads.complete(made.id, { part_ids: [one.id] }), 400);
  assert.equal((await t.client.files.list()).data.length, 0);
});

test('an upload with another md5 is refused', async (t) => {
  const made = await upload(t, 3);
  const one = await part(t, made.id, 'abc');
  await refused(t.client.uploads.complete(made.id, { part_ids: [one.id], md5: md5('xyz') }), 400);
});

test('an upload with parts of nobody is refused', async (t) => {
  const made = await upload(t, 3);
  await refused(t.client.uploads.complete(made.id, { part_ids: ['part_none'] }), 400, 404);
  await refused(t.client.uploads.parts.create('upload_none', { data: new File(['x'], 'blob') }), 404);
});

test('a cancelled upload takes nothing more', async (t) => {
  const made = await upload(t, 3);
  const one = await part(t, made.id, 'abc');
  assert.equal((await t.client.uploads.cancel(made.id)).status, 'cancelled');
  await refused(part(t, made.id, 'abc'), 400);
  await refused(t.client.uploads.complete(made.id, { part_ids: [one.id] }), 400);
});

test('an upload says what is missing', async (t) => {
  await fails(upload(t, undefined), 'BadRequestError', 400, { param: 'bytes' });
  await fails(upload(t, -1), 'BadRequestError', 400, { param: 'bytes' });
  await fails(upload(t, 1, { purpose: 'fun' }), 'BadRequestError', 400, { param: 'purpose' });
  await fails(upload(t, 9 * 2 ** 30), 'BadRequestError', 400, { param: 'bytes' });
});
