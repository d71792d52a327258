// supergateway --streamableHttp: a client whose ids begin with 1 cancels a call, and the server
// stops another one.
import { spawn } from 'node:child_process';
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import readline from 'node:readline';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function session(firstID) {
  const end = {};
  const server = new McpServer({ name: 'repro', version: '1' });
  server.registerTool('work', { inputSchema: { name: z.string() } }, async ({ name }, extra) => {
    const stopped = new Promise(resolve => extra.signal.addEventListener('abort', () => resolve('was stopped')));
    end[name] = await Promise.race([stopped, sleep(3000).then(() => 'ran to its end')]);
    return { content: [] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await server.connect(transport);
  const web = http.createServer((req, res) => transport.handleRequest(req, res));
  await new Promise(resolve => web.listen(0, '127.0.0.1', resolve));

  const gateway = spawn(process.execPath, ['node_modules/supergateway/dist/index.js',
    '--streamableHttp', `http://127.0.0.1:${web.address().port}/mcp`, '--logLevel', 'none'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const answers = {};
  readline.createInterface({ input: gateway.stdout }).on('line', line => {
    const message = JSON.parse(line);
    answers[message.id]?.(message);
  });
  const write = message => gateway.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  let id = firstID;
  const request = (method, params) => {
    write({ id, method, params });
    return new Promise(resolve => { answers[id++] = resolve; });
  };
  await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } });
  write({ method: 'notifications/initialized' });
  const calls = { A: id };
  request('tools/call', { name: 'work', arguments: { name: 'A' } });
  request('tools/call', { name: 'work', arguments: { name: 'B' } });
  await sleep(1000);
  write({ method: 'notifications/cancelled', params: { requestId: calls.A } });
  while (!end.A || !end.B) await sleep(50);
  console.log(`the client's first id is ${firstID}, it cancels A: A ${end.A}, B ${end.B}`);
  gateway.kill();
  web.closeAllConnections();
  web.close();
  return end.A === 'was stopped' && end.B === 'ran to its end';
}

const good = [await session(0), await session(1)];
process.exit(good.every(Boolean) ? 0 : 1);
