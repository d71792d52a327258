// A server says that its tools have changed, and the client disconnects within 300 ms: it connects once more by itself,
// with a new server process, and the program does not end. The server here ends as soon as its input does.
import { spawn } from 'node:child_process';
import readline from 'node:readline';
import { McpClient } from '@strands-agents/sdk';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

async function serve() {
  const say = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  console.error('a server begins');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { id, method } = JSON.parse(line);
    if (method === 'initialize') {
      say({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 's', version: '1' } } });
    } else if (method === 'notifications/initialized') {
      say({ method: 'notifications/tools/list_changed' });
    } else {
      say({ id, result: { tools: [] } });
    }
  }
  console.error('a server ends');
}

async function connect() {
  const client = new McpClient({ transport: new StdioClientTransport({ command: process.execPath, args: [process.argv[1], 'server'] }) });
  await client.listTools();
  await client.disconnect();
  console.error('the client has disconnected');
}

async function watch() {
  const client = spawn(process.execPath, [process.argv[1], 'client'], { stdio: 'inherit', detached: true });
  const end = await Promise.race([
    new Promise(resolve => client.on('exit', code => resolve(`ended with ${code}`))),
    new Promise(resolve => setTimeout(resolve, 20_000, 'is still there 20 s later')),
  ]);
  console.error(`the program ${end}`);
  if (!end.startsWith('ended')) process.kill(-client.pid);
  process.exitCode = end.startsWith('ended') ? 0 : 1;
}

await ({ server: serve, client: connect }[process.argv[2]] ?? watch)();
