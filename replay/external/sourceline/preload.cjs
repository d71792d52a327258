// Loaded by Node before the program, in a play whose finding mcprec has seen before. It notes where each promise was made
// that is still pending, and for which request; and where each timer, child process, server and connection was made, which
// keep the program alive; what was last written to standard output, and where; and, of the requests, what each did to files,
// and where it waited while another went on. When SIGUSR2 comes it writes that to a file.
'use strict'
const { createHook, executionAsyncId } = require('node:async_hooks')
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')
const path = require('node:path')
const { Duplex, Writable } = require('node:stream')
const { fileURLToPath } = require('node:url')
const { isMainThread } = require('node:worker_threads')
const folder = process.env.MCPREC_SOURCE_LINES
const keepers = { // what keeps a program alive, by Node's names
  PROCESSWRAP: 'a child process', Timeout: 'a timer', WORKER: 'a worker', TCPSERVERWRAP: 'a server', PIPESERVERWRAP: 'a server',
  TCPWRAP: 'a connection', UDPWRAP: 'a socket', FSEVENTWRAP: 'a watched file', STATWATCHER: 'a watched file'
}
const files = { // what a function of fs does to the files that it is given
  readFile: ['read'], createReadStream: ['read'], stat: ['looked at'], lstat: ['looked at'], access: ['looked at'],
  exists: ['looked at'], writeFile: ['wrote'], appendFile: ['wrote'], createWriteStream: ['wrote'], truncate: ['wrote'],
  unlink: ['removed'], rm: ['removed'], rename: ['removed', 'wrote'], copyFile: ['read', 'wrote'],
  open: [flags => flags === undefined || typeof flags === 'function' || /^(r|rs|sr|0)$/.test(flags) ? 'read' : 'wrote']
}
const most = 1000 // of what is noted in a list: the latest

if (folder && isMainThread) {
  const open = new Map() // pending promises by their async id: where they were made, and for which request
  const alive = new Map() // keepers by their async id: what they are, and where they were made
  const causes = new Map() // the request that an async id works for
  const asked = new Map() // requests of this process without an answer, by their ids
  const requests = new Map() // those that it was sent, by their ids
  let reading = { id: -1, request: undefined } // the message that the present callback has parsed last
  const turns = new Map() // when each request went on last
  let turn = 0
  const overtaken = [] // the requests that waited while another went on, and where
  const uses = [] // of files, in order

  const keep = (list, item) => {
    if (list.push(item) > most) list.shift()
  }
  const causeOf = id => id === reading.id ? reading.request : causes.get(id)
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, 30)
  createHook({
    init(id, type, trigger, resource) {
      const running = executionAsyncId()
      const request = causeOf(running) ?? causes.get(trigger)
      if (request) causes.set(id, request)
      if (type === 'PROMISE') open.set(id, { request, waits: trigger !== running, stack: new Error().stack, turn })
      else if (keepers[type]) alive.set(id, { what: keepers[type], resource, stack: new Error().stack })
    },
    before(id) { // what awaits goes on
      const request = causes.get(id)
      const wait = open.get(id)
      open.delete(id)
      if (!request) return
      if (wait?.waits) {
        for (const [by, last] of turns) if (by !== request && last > wait.turn) keep(overtaken, { request, by, stack: wait.stack })
      }
      turns.set(request, ++turn)
    },
    promiseResolve(id) { open.delete(id) },
    destroy(id) { // a pending promise that nothing can settle any more is collected, and is what holds its request
      causes.delete(id)
      alive.delete(id)
      const promise = open.get(id)
      if (promise) promise.lost = true
    },
  }).enable()

  const isCall = m => m && typeof m === 'object' && typeof m.method === 'string' && m.id !== undefined && m.id !== null
  const parse = JSON.parse
  JSON.parse = function (text, reviver) {
    const message = parse(text, reviver)
    if (isCall(message)) {
      reading = { id: executionAsyncId(), request: { id: message.id, method: message.method } }
      requests.set(message.id, reading.request)
    } else if (message && typeof message === 'object' && message.id !== undefined && message.method === undefined) asked.delete(message.id)
    return message
  }
  const stringify = JSON.stringify
  JSON.stringify = function (message, ...rest) {
    if (isCall(message)) asked.set(message.id, { id: message.id, method: message.method, by: causeOf(executionAsyncId()) })
    else if (message && typeof message === 'object' && message.id !== undefined && message.method === undefined) {
      const request = requests.get(message.id)
      if (request) request.answered = true
    }
    return stringify(message, ...rest)
  }

  const { realpathSync, renameSync, writeFileSync } = fs
  const written = [] // to standard output: the latest, and where that was
  const note = chunk => keep(written, { text: String(chunk).slice(0, 4096), stack: new Error().stack })
  for (const { prototype } of [Duplex, Writable]) {
    const write = prototype.write
    prototype.write = function (chunk, ...rest) {
      if (this.fd === 1 && this._isStdio) note(chunk)
      return write.call(this, chunk, ...rest)
    }
  }
  const listen = (object, name, listener) => { // to the calls of a function
    const listened = object[name]
    if (typeof listened !== 'function') return
    object[name] = function (...args) {
      listener(args)
      return listened.apply(this, args)
    }
    Object.defineProperties(object[name], Object.getOwnPropertyDescriptors(listened)) // util.promisify looks there
  }
  for (const name of ['write', 'writeSync']) listen(fs, name, ([fd, chunk]) => { if (fd === 1) note(chunk) })

  const pathOf = file => {
    try {
      return path.resolve(file instanceof URL ? fileURLToPath(file) : file)
    } catch {} // the program's mistake, or the number of an open file
  }
  const use = (args, does) => {
    const request = causeOf(executionAsyncId())
    if (!request) return
    const { stack } = new Error()
    does.forEach((word, i) => {
      const at = pathOf(args[i])
      if (at) keep(uses, { request, does: typeof word === 'string' ? word : word(args[1]), path: at, stack })
    })
  }
  for (const [name, does] of Object.entries(files)) {
    for (const [object, as] of [[fs, name], [fs, name + 'Sync'], [fs.promises, name]]) listen(object, as, args => use(args, does))
  }
  syncBuiltinESMExports()

  const programPath = () => { // not that of a link in node_modules/.bin
    try {
      return realpathSync(process.argv[1])
    } catch {
      return process.argv[1]
    }
  }
  const answer = () => {
    const pending = [...open.values()]
    const isHeld = request => pending.some(p => p.request === request && !p.lost)
    const told = pending.filter(p => !p.lost || p.request && !p.request.answered && !isHeld(p.request))
    const kept = [...alive.values()].filter(k => k.resource.hasRef?.()).map(({ what, stack }) => ({ what, stack }))
    const text = stringify({ program: programPath(), open: told, asked: [...asked.values()], kept, written, uses, overtaken })
    writeFileSync(`${folder}/${process.pid}.part`, text)
    renameSync(`${folder}/${process.pid}.part`, `${folder}/${process.pid}.json`)
  }
  process.on('SIGUSR2', answer)
}
