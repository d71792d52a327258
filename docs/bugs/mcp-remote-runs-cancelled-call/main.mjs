// mcp-remote: a call is cancelled while the proxy makes a new session for it, and runs all the
// same. The server here expires the session once, and is slow to make another.
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

// event is a promise that is resolved from outside.
function event() {
  let happen;
  return Object.assign(new Promise(resolve => { happen = resolve; }), { happen });
}

const expired = event();
const cancelled = event();
const over = event();
let first = true;

const web = http.createServer(async (req, res) => {
  let body = '';
  for await (const chunk of req) body += chunk;
  if (req.method !== 'POST') return res.writeHead(405).end();
  const { id, method } = JSON.parse(body);
  const answer = (result, headers) => {
    res.writeHead(200, { 'content-type': 'application/json', ...headers });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  switch (method) {
    case 'initialize':
      if (!first) await cancelled; // it takes so long
      return answer({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'repro', version: '1' } }, { 'mcp-session-id': String(Math.random()) });
    case 'tools/list':
      return answer({ tools: [] });
    case 'tools/call':
      if (first) {
        first = false;
        res.writeHead(404).end(); // this session is over
        return expired.happen();
      }
      console.log('server: delete_everything runs');
      answer({ content: [] });
      return over.happen('ran');
    case 'notifications/cancelled':
      console.log('server: the call is cancelled');
      cancelled.happen();
  }
  res.writeHead(202).end();
});
await new Promise(resolve => web.listen(0, '127.0.0.1', resolve));

const proxy = spawn(process.execPath, ['node_modules/mcp-remote/dist/proxy.js', `http://127.0.0.1:${web.address().port}/mcp`, '--transport', 'http-only'], {
  stdio: ['pipe', 'pipe', 'ignore'],
  env: { ...process.env, MCP_REMOTE_CONFIG_DIR: mkdtempSync(path.join(os.tmpdir(), 'mcp-remote-')) },
});
const write = message => proxy.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const initialized = event();
readline.createInterface({ input: proxy.stdout }).on('line', line => {
  if (JSON.parse(line).id === 0) initialized.happen();
});
write({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } } });
await initialized;
write({ method: 'notifications/initialized' });
write({ id: 1, method: 'tools/call', params: { name: 'delete_everything', arguments: {} } });
await expired;
console.log('client: cancels the call');
write({ method: 'notifications/cancelled', params: { requestId: 1 } });
const end = await Promise.race([over, new Promise(resolve => setTimeout(resolve, 5000, 'did not run'))]);
console.log(`the cancelled call ${end}`);
proxy.kill();
process.exit(end === 'ran' ? 1 : 0);
