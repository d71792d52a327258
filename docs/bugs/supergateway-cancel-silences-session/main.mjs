// supergateway --stateful: after one cancelled call no progress, and no question of a tool, comes
// through to the client of the session. The stdio server behind the gateway is this file, too.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function serve(timeout) {
  const server = new McpServer({ name: 'repro', version: '1' });
  server.registerTool('slow', {}, async extra => {
    const stopped = new Promise(resolve => extra.signal.addEventListener('abort', resolve));
    await Promise.race([stopped, sleep(1000)]);
    return { content: [] };
  });
  server.registerTool('work', {}, async extra => {
    for (let progress = 1; progress <= 3; progress++) {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: extra._meta.progressToken, progress } });
    }
    return { content: [] };
  });
  server.registerTool('ask', {}, async extra => {
    const question = { message: 'Delete it?', requestedSchema: { type: 'object', properties: {} } };
    const { action } = await server.server.elicitInput(question, { timeout, relatedRequestId: extra.requestId });
    return { content: [{ type: 'text', text: `the user said ${action}` }] };
  });
  await server.connect(new StdioServerTransport());
}

async function freePort() {
  const probe = createServer();
  await new Promise(resolve => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise(resolve => probe.close(resolve));
  return port;
}

async function session(cancel) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const gateway = spawn(process.execPath, ['node_modules/supergateway/dist/index.js', '--stdio', `${process.execPath} ${process.argv[1]} serve 5000`,
    '--outputTransport', 'streamableHttp', '--stateful', '--port', port, '--logLevel', 'none'], { stdio: 'ignore' });
  let id;
  const post = (message, signal) => fetch(url, {
    method: 'POST', signal, body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25', ...(id && { 'mcp-session-id': id }) },
  });
  for (;;) { // until the gateway listens
    try { await fetch(url); break; } catch { await sleep(50); }
  }
  const initialized = await post({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'c', version: '1' } } });
  id = initialized.headers.get('mcp-session-id');
  await initialized.text();
  await (await post({ method: 'notifications/initialized' })).text();
  const standalone = await fetch(url, { headers: { accept: 'text/event-stream', 'mcp-session-id': id } });

  if (cancel) {
    const user = new AbortController();
    const call = await post({ id: 1, method: 'tools/call', params: { name: 'slow' } }, user.signal);
    await (await post({ method: 'notifications/cancelled', params: { requestId: 1 } })).text();
    user.abort(); // and the client needs this connection no more
    await call.text().catch(() => {});
    await sleep(500);
  }
  const worked = await (await post({ id: 2, method: 'tools/call', params: { name: 'work', _meta: { progressToken: 2 } } })).text();
  const reports = worked.split('notifications/progress').length - 1;
  let answer;
  for await (const chunk of (await post({ id: 3, method: 'tools/call', params: { name: 'ask' } })).body) {
    for (const [, line] of Buffer.from(chunk).toString().matchAll(/^data: (\{.*)$/gm)) {
      const message = JSON.parse(line);
      if (message.method === 'elicitation/create') await post({ id: message.id, result: { action: 'decline' } });
      if (message.result) answer = message.result.content[0].text;
    }
  }
  console.log(`${cancel ? 'after a cancelled call' : 'in a new session'}: ${reports} of 3 progress notifications came; the tool that asks: ${answer}`);
  await standalone.body.cancel();
  gateway.kill();
  return reports === 3 && answer === 'the user said decline';
}

if (process.argv[2] === 'serve') {
  await serve(Number(process.argv[3]));
} else {
  const good = [await session(false), await session(true)];
  process.exit(good.every(Boolean) ? 0 : 1);
}
