// printf '...requests...' | server: a call that takes 10 ms is never answered when stdin
// ends behind it. The SDK's version 1 answers it.
import { spawnSync } from 'node:child_process';

const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

async function work() {
  await sleep(10);
  return { content: [{ type: 'text', text: 'done' }] };
}

async function serve(version) {
  if (version === '1') {
    const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
    const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
    const server = new McpServer({ name: 'repro', version: '1' });
    server.registerTool('work', {}, work);
    await server.connect(new StdioServerTransport());
    return;
  }
  const { McpServer } = await import('@modelcontextprotocol/server');
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  serveStdio(() => {
    const server = new McpServer({ name: 'repro', version: '1' });
    server.registerTool('work', {}, work);
    return server;
  });
}

if (process.argv[2]) {
  await serve(process.argv[2]);
} else {
  const input = [
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ...[1, 2, 3].map(id => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"work","arguments":{}}}`),
  ].join('\n') + '\n';
  let bad = false;
  for (const version of ['1', '2']) {
    const { stdout, status } = spawnSync(process.execPath, [process.argv[1], version], { input });
    const answered = stdout.toString().split('"done"').length - 1;
    console.log(`TypeScript SDK ${version}: ${answered} of 3 calls were answered (exit: ${status})`);
    bad ||= answered < 3;
  }
  process.exit(bad ? 1 : 0);
}
