// A server of mcp-framework with a tool that takes a while: http://127.0.0.1:$PORT/mcp.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { MCPServer, MCPTool } from 'mcp-framework'
// Tools need the very zod of the framework.
const own = createRequire(fs.realpathSync(new URL(import.meta.resolve('mcp-framework')))).resolve('zod')
const { z } = await import(own.replace(/cjs$/, 'js'))
class Greet extends MCPTool {
  name = 'greet'
  description = 'Greets somebody, after a while.'
  schema = z.object({ name: z.enum(['Alice', 'Bob']).describe('whom') })
  async execute({ name }) {
    await new Promise(resolve => setTimeout(resolve, 50))
    return `hello ${name}`
  }
}
const server = new MCPServer({ name: 's', version: '1', basePath: '/nowhere', transport: { type: 'http-stream', options: { port: +process.env.PORT } } })
server.addTool(Greet)
server.start()
