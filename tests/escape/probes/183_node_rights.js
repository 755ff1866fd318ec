// class: lang | kind: self
// expect: node is a child in the same jail: no caps, nnp, seccomp in every thread, no network, no listener, no socket of the engine
const fs = require('fs'), net = require('net');
const bad = [];
const read = p => { try { return fs.readFileSync(p, 'utf8'); } catch { return ''; } };
const list = p => { try { return fs.readdirSync(p); } catch { return []; } };
for (const thread of list('/proc/self/task')) {
  const status = Object.fromEntries(read(`/proc/self/task/${thread}/status`).split('\n').map(l => l.split(/:\s*/)));
  for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    if (/[^0]/.test(status[name])) bad.push(name);
  if (status.NoNewPrivs !== '1') bad.push('NoNewPrivs');
  if (status.Seccomp !== '2') bad.push('Seccomp');
  if (/^0\s/.test(status.Uid)) bad.push('uid0');
}
for (const fd of list('/proc/self/fd')) {
  let target = '';
  try { target = fs.readlinkSync('/proc/self/fd/' + fd); } catch {}
  if (target.startsWith('socket:')) bad.push('socket ' + fd);
}
for (const path of ['/etc/shadow', '/root/.ssh/id_rsa']) if (read(path)) bad.push(path);
for (const call of ['setuid', 'setgid']) try { process[call](0); bad.push(call); } catch {}
const attempt = (what, start) => new Promise(done => {
  const socket = start();
  const end = hit => { if (hit) bad.push(what); socket.destroy ? socket.destroy() : socket.close(() => {}); done(); };
  socket.on('error', () => end(false));
  socket.on('connect', () => end(true)).on('listening', () => end(true));
  setTimeout(() => end(false), 2000).unref();
});
Promise.all([
  attempt('connected to the host', () => net.connect(47999, '127.0.0.1')),
  attempt('listens', () => net.createServer().listen(0)),
  attempt('udp', () => require('dgram').createSocket('udp4').bind(0)),
]).then(() => console.log(bad.length ? 'ESCAPED: ' + [...new Set(bad)].join(' ') : 'HELD: no caps, nnp, seccomp, no network'));
