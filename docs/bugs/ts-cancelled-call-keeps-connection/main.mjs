// Streamable HTTP: each call that times out, or is cancelled, leaves its connection open.
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function timeOut(enableJsonResponse) {
  const server = new McpServer({ name: 'repro', version: '1' });
  let stopped = 0;
  server.registerTool('work', {}, async extra => {
    await new Promise(resolve => extra.signal.addEventListener('abort', resolve));
    stopped++;
    return { content: [] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse });
  await server.connect(transport);
  let open = 0;
  const web = http.createServer((req, res) => {
    open++;
    res.on('close', () => open--);
    transport.handleRequest(req, res);
  });
  await new Promise(resolve => web.listen(0, '127.0.0.1', resolve));
  const client = new Client({ name: 'c', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${web.address().port}/mcp`)));
  await sleep(100);
  const before = open;
  for (let i = 0; i < 20; i++) {
    await client.callTool({ name: 'work', arguments: {} }, undefined, { timeout: 200 }).catch(() => {});
  }
  await sleep(1000);
  const left = open - before;
  const sockets = await new Promise(resolve => web.getConnections((_, count) => resolve(count)));
  console.log(`${enableJsonResponse ? 'JSON' : 'SSE'}: 20 calls timed out, ${stopped} tools stopped, ${left} responses are open, on ${sockets} sockets`);
  await client.close();
  web.closeAllConnections();
  web.close();
  return left === 0;
}

const good = [await timeOut(false), await timeOut(true)];
process.exit(good.every(Boolean) ? 0 : 1);
