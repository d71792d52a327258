// The server of @hono/mcp's README, with a tool that takes a while: http://127.0.0.1:$PORT/mcp.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPTransport } from '@hono/mcp'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { z } from 'zod'
const mcpServer = new McpServer({ name: 's', version: '1' })
mcpServer.registerTool('greet', { annotations: { readOnlyHint: true, openWorldHint: false }, inputSchema: { name: z.enum(['Alice', 'Bob']) } }, async ({ name }) => {
  await new Promise(resolve => setTimeout(resolve, 50))
  return { content: [{ type: 'text', text: `hello ${name}` }] }
})
const transport = new StreamableHTTPTransport()
const app = new Hono()
app.all('/mcp', async c => {
  if (!mcpServer.isConnected()) await mcpServer.connect(transport)
  return transport.handleRequest(c)
})
serve({ fetch: app.fetch, port: +process.env.PORT, hostname: '127.0.0.1' })
