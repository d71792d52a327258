// A client dies with a request under way, as a client that crashes does: the server stays for ever.
import { spawn } from 'node:child_process';
import readline from 'node:readline';

const line = message => JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n';
const server = spawn(process.execPath, ['node_modules/mongodb-mcp-server/dist/esm/index.js'], {
  stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, MDB_MCP_TELEMETRY: 'disabled' },
});
server.stdin.write(line({
  id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}));
for await (const answer of readline.createInterface({ input: server.stdout })) {
  console.log(`answered: ${answer.slice(0, 60)}...`);
  break;
}
server.stdin.write(line({ method: 'notifications/initialized' }) + line({ id: 2, method: 'tools/list' }));
server.stdout.destroy(); // both pipes close, as they do when a client dies
server.stdin.end();
const end = await Promise.race([
  new Promise(resolve => server.on('exit', code => resolve(`ended with ${code}`))),
  new Promise(resolve => setTimeout(resolve, 60_000, 'is still there 60 s after its client')),
]);
console.log(`the server ${end}`);
server.kill();
process.exit(end.startsWith('ended') ? 0 : 1);
