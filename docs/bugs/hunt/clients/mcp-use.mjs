// mcp-use@1.34.6: its client, as its documentation shows it.
import { hasEcho, printProgress, run, server } from './workload.mjs';

process.env.MCP_USE_ANONYMIZED_TELEMETRY = 'false';
const { MCPClient } = await import('mcp-use/client');
const client = new MCPClient({ mcpServers: { everything: server } });

await run({
  open: async () => {
    await client.createAllSessions();
    const session = client.getSession('everything');
    return hasEcho(await session.listTools()) && ((name, args) => session.callTool(name, args, { onprogress: printProgress }));
  },
  close: () => client.closeAllSessions(),
});
