/** relay-node mcp: the server for a coding agent. It loads no libp2p, and starts the node on the first call that needs it. */
import { readFileSync } from 'node:fs'
import { type Home, HomeError } from '../home.ts'
import { runMcp } from '../mcp/server.ts'
import { realSystem } from '../system.ts'
import type { Command } from './context.ts'
import { EXIT, UsageError } from './failure.ts'
import { fileTrouble } from './input.ts'
import { jsonLog } from './log-file.ts'
import { ensureNode } from './node-connection.ts'
import { readSettings } from './settings.ts'

/** A node that is just being started must not keep this process. */
const LINGER_MS = 500

interface Options {
  tokenFile?: string
}

export const run: Command<Options> = async ({ home, version }, _args, { tokenFile }) => {
  const { stdin, stdout, stderr } = process
  await runMcp({
    socketPath: home.socket,
    start: () => ensureNode(home),
    token: readToken(tokenFile),
    readOnly: readsOnly(home),
    stdin,
    stdout,
    stderr,
    version,
    // The log file is the node's. The agent's program keeps what comes on stderr.
    system: realSystem(jsonLog(stderr, 'warn')),
  })
  setTimeout(() => process.exit(EXIT.done), LINGER_MS).unref()
}

const TOKEN = /^rns_[A-Za-z0-9_-]{43}$/
const VARIABLE = 'RELAY_NODE_TOKEN'

/** The session token, from a file or the environment: never from the command line, where other users would see it. */
function readToken(file: string | undefined): string | undefined {
  const given = process.env[VARIABLE]
  // The node that may be started from here is nobody's session.
  delete process.env[VARIABLE]
  if (file !== undefined && given !== undefined) {
    throw new UsageError(`There are two session tokens: in ${VARIABLE} and in ${file}.`, 'Give one of them.')
  }
  const token = file === undefined ? given : readText(file)
  if (token === undefined || TOKEN.test(token.trim())) return token?.trim()
  throw new UsageError(
    `${file ?? VARIABLE} holds no session token.`,
    'It is the text that begins with rns_, as relay-node session create printed it.',
  )
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${fileTrouble(error)}.`, 'Name a file that holds a session token.')
  }
}

/** Settings that cannot be read keep the node from starting, and then every call says why. */
function readsOnly(home: Home): boolean {
  try {
    return readSettings(home).settings.scope === 'read'
  } catch (error) {
    if (error instanceof HomeError) return false
    throw error
  }
}
