/** The socket's place in the file system: who may reach it, how long its path may be, and what a killed node left there. */
import { chmod, lstat, mkdir, stat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'

/** Operating systems hold 104 or 108 bytes, and some cut a longer path in silence. */
const SOCKET_PATH_BYTES_MAX = 100
const OTHER_USERS = 0o077
const STICKY = 0o1000

export type SocketErrorCode = 'SOCKET_PATH_TOO_LONG' | 'SOCKET_IN_USE' | 'SOCKET_FOLDER' | 'SOCKET_OCCUPIED'

/** Why no node can listen at this path; the message says what to do. */
export class SocketError extends Error {
  readonly code: SocketErrorCode
  constructor(code: SocketErrorCode, message: string) {
    super(message)
    this.name = 'SocketError'
    this.code = code
  }
}

/** Named pipes of Windows lie in no folder: they need neither a mode nor a clean-up. */
export function isPipe(path: string): boolean {
  return path.startsWith('\\\\.\\pipe\\')
}

/**
 * Makes the path ready to be listened on. The caller holds the node's lock, so that nobody else does the same at once.
 *
 * @throws SocketError
 */
export async function clearSocket(path: string): Promise<void> {
  if (isPipe(path)) return
  checkLength(path)
  await closeFolder(dirname(path))
  const found = await lstat(path).catch(absent)
  if (found === undefined) return
  if (!found.isSocket()) {
    throw new SocketError(
      'SOCKET_OCCUPIED',
      `${path} is there already and is no socket. Move it away, or choose another home folder.`,
    )
  }
  if (await answers(path)) {
    throw new SocketError(
      'SOCKET_IN_USE',
      `A node is already listening on ${path}. Use it, or end it with: relay-node stop`,
    )
  }
  await unlink(path).catch(absent)
}

/** @throws SocketError SOCKET_PATH_TOO_LONG */
export function checkLength(path: string): void {
  const length = Buffer.byteLength(path)
  if (length <= SOCKET_PATH_BYTES_MAX) return
  throw new SocketError(
    'SOCKET_PATH_TOO_LONG',
    `The socket path is ${length} bytes long and the operating system holds ${SOCKET_PATH_BYTES_MAX}: ${path} ` +
      'Set RELAY_NODE_HOME to a folder with a shorter path.',
  )
}

/** Whoever can open the folder could connect in the moment before the socket's own mode is set. */
async function closeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { mode, uid } = await stat(folder)
  if ((mode & OTHER_USERS) === 0) return
  const owner = process.getuid?.()
  if ((mode & STICKY) !== 0 || (owner !== undefined && uid !== owner)) {
    throw new SocketError(
      'SOCKET_FOLDER',
      `${folder} is shared with other users. Set RELAY_NODE_HOME to a folder of your own.`,
    )
  }
  await chmod(folder, 0o700)
}

/** True if somebody accepts connections there: a socket whose owner was killed refuses them. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      else reject(error)
    })
  })
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
