// A counter that forgets the first of two calls that arrive together.
import { createInterface } from 'node:readline'

let count = 0

async function add() {
  const before = count
  await null
  count = before + 1
}

createInterface({ input: process.stdin }).on('line', async line => {
  const { id, params } = JSON.parse(line)
  if (params?.name === 'add') await add()
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: `${count}` }] } }))
})
