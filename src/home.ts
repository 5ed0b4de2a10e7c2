/**
 * Where a node keeps its things: six places, made by `env-paths`, or all in the folder that RELAY_NODE_HOME names.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import envPaths from 'env-paths'

/** Absolute paths. `home` and `store` are folders, the others are files (`socket` is a named pipe on Windows). */
export interface Home {
  home: string
  config: string
  store: string
  socket: string
  log: string
  key: string
}

export type HomeErrorCode =
  | 'HOME_NOT_A_FOLDER' // a regular file stands where a folder is needed
  | 'HOME_NOT_WRITABLE'
  | 'HOME_FULL' // no space left on the disk
  | 'HOME_EMPTY' // nothing was set up here yet
  | 'HOME_TAKEN' // it belongs to a workspace already, or to a bootstrap server
  | 'HOME_SETTINGS' // the settings file has a mistake
  | 'HOME_KEY' // the device key file is damaged or unreadable
  | 'HOME_FAILED' // anything else

/** The node's folders are not usable. `hint` says what to do next. */
export class HomeError extends Error {
  readonly code: HomeErrorCode
  readonly hint: string
  constructor(code: HomeErrorCode, message: string, options: { hint: string; cause?: unknown }) {
    super(message, { cause: options.cause })
    this.name = 'HomeError'
    this.code = code
    this.hint = options.hint
  }
}

/** The places for this user, or in `RELAY_NODE_HOME` of `env`. Nothing is read or made. */
export function homePaths(env: NodeJS.ProcessEnv = process.env): Home {
  const chosen = env['RELAY_NODE_HOME']
  if (chosen !== undefined && chosen !== '') {
    const home = resolve(chosen)
    return placesIn({ home, config: home, log: home })
  }
  const paths = envPaths('relay-node', { suffix: '' })
  return placesIn({ home: paths.data, config: paths.config, log: paths.log })
}

function placesIn(folders: { home: string; config: string; log: string }): Home {
  const { home } = folders
  return {
    home,
    config: join(folders.config, 'settings.toml'),
    store: join(home, 'store'),
    socket: process.platform === 'win32' ? pipeName(home) : join(home, 'node.sock'),
    log: join(folders.log, 'relay-node.log'),
    key: join(home, 'peer.key'),
  }
}

function pipeName(home: string): string {
  return `\\\\.\\pipe\\relay-node-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`
}

/** The places of a bootstrap server: a folder of its own in the home, so that no laptop's command takes it for a node. */
export function bootstrapPlaces(home: Home): Home {
  const folder = join(home.home, 'bootstrap')
  return placesIn({ home: folder, config: folder, log: dirname(home.log) })
}

/** Throws HomeError where a laptop's node lives in `home`: one home is the one or the other. */
export function assertNoNode(home: Home): void {
  if (existsSync(home.key)) throw taken(home, "a laptop's node")
}

function taken(home: Home, owner: string): HomeError {
  return new HomeError('HOME_TAKEN', `${home.home} is the home of ${owner}.`, {
    hint: 'Set RELAY_NODE_HOME to another folder.',
  })
}

/** Makes the folders, for this user alone, and checks that they can be written. Throws HomeError. */
export function prepareHome(home: Home): void {
  if (existsSync(bootstrapPlaces(home).key)) throw taken(home, 'a bootstrap server')
  for (const folder of new Set([home.home, dirname(home.config), dirname(home.log)])) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // Made before, or a file: mkdir is content with the former only.
      accessSync(folder, constants.W_OK | constants.X_OK)
    } catch (error) {
      throw homeError(error, folder)
    }
  }
}

/** Turns what the file system said about `path` into one clear error; a HomeError passes as it is. */
export function homeError(error: unknown, path: string): HomeError {
  if (error instanceof HomeError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ENOTDIR':
    case 'EEXIST':
      return new HomeError('HOME_NOT_A_FOLDER', `${regularFileOn(path)} is a file; a folder is needed for ${path}.`, {
        hint: 'Move the file away, or set RELAY_NODE_HOME to another folder.',
        cause: error,
      })
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new HomeError('HOME_NOT_WRITABLE', `${path} cannot be read and written by this user.`, {
        hint: 'Change its permissions, or set RELAY_NODE_HOME to a folder of your own.',
        cause: error,
      })
    case 'ENOSPC':
    case 'EDQUOT':
      return new HomeError('HOME_FULL', `No space is left on the disk for ${path}.`, {
        hint: 'Free some space and run the command again; nothing was lost.',
        cause: error,
      })
    default:
      return new HomeError(
        'HOME_FAILED',
        `${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
        {
          hint: 'Run relay-node doctor to see what is wrong.',
          cause: error,
        },
      )
  }
}

/** The part of `path` that is a regular file. */
function regularFileOn(path: string): string {
  for (let part = path; ; part = dirname(part)) {
    if (statSync(part, { throwIfNoEntry: false })?.isDirectory() === false || part === dirname(part)) return part
  }
}

/**
 * Puts a file for this user alone in place, whole, and only where none is: nobody ever reads half of it.
 * True if it was made, false if there was one.
 */
export function placeFile(path: string, text: string): boolean {
  const draft = `${path}.${process.pid}.${randomUUID()}`
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true })
    try {
      linkSync(draft, path)
    } catch (error) {
      if (isExists(error)) return false
      // A file system without hard links.
      copyFileSync(draft, path, constants.COPYFILE_EXCL)
    }
    return true
  } catch (error) {
    if (isExists(error)) return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function isExists(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST'
}
