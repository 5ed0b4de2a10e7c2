import { CORRUPTION } from './abstract-store.ts'
import { StoreError, type StoreErrorCode } from './store.ts'

/** What an underlying failure says, and what it means. LevelDB's own messages end with the system's text, so text is all there is to go by. */
const MEANINGS: readonly [said: RegExp, code: StoreErrorCode][] = [
  [/ENOSPC|EDQUOT|No space left|quota exceeded|not enough space/i, 'STORE_FULL'],
  [
    /EACCES|EPERM|EROFS|ENOTDIR|EEXIST|Permission denied|not permitted|Read-only|Not a directory|Access is denied/i,
    'STORE_READONLY',
  ],
  // Node's answer to a folder that cannot be made on a disk that cannot be written.
  [/ENOENT.*mkdir/, 'STORE_READONLY'],
  // LevelDB misses a file of its own, or finds a table shorter than it has to be.
  [/^IO error: .*(No such file|Invalid argument|cannot find the file)/i, 'STORE_CORRUPT'],
]

/** Names what went wrong with the store in `folder`, and says what to do next. */
export function levelError(cause: unknown, folder: string): StoreError {
  if (cause instanceof StoreError) return cause
  const root = rootOf(cause)
  return storeError(codeOf(root), folder, root instanceof Error ? root.message : String(root), root)
}

/** The error of `code` for the store in `folder`, `detail` in its words. */
export function storeError(code: StoreErrorCode, folder: string, detail: string, cause?: unknown): StoreError {
  return new StoreError(code, explain(code, folder, detail), cause)
}

function explain(code: StoreErrorCode, folder: string, detail: string): string {
  switch (code) {
    case 'STORE_LOCKED':
      return `The store in ${folder} is in use already. Only one node can have it open: stop the other one with \`relay-node stop\`.`
    case 'STORE_CORRUPT':
      return `The store in ${folder} is damaged (${detail}). Stop the node, then run \`relay-node start --repair\`: it copies the folder beside it and then repairs what can be read.`
    case 'STORE_NEWER':
      return `The store in ${folder} was written by a newer relay-node (${detail}); install that version or a later one.`
    case 'STORE_FULL':
      return `The disk that holds ${folder} is full. Make room, then start the node again; nothing that was acknowledged is lost.`
    case 'STORE_READONLY':
      return `The folder ${folder} cannot be written (${detail}). Choose another home or make this one writable.`
    case 'STORE_CLOSED':
      return 'The store is closed.'
    case 'STORE_FAILED':
      return `The store in ${folder} failed (${detail}). Look at the disk, then start the node again.`
  }
}

function codeOf(cause: unknown): StoreErrorCode {
  if (!(cause instanceof Error)) return 'STORE_FAILED'
  const levelCode = 'code' in cause ? cause.code : undefined
  if (levelCode === 'LEVEL_LOCKED') return 'STORE_LOCKED'
  if (levelCode === CORRUPTION) return 'STORE_CORRUPT'
  return MEANINGS.find(([said]) => said.test(cause.message))?.[1] ?? 'STORE_FAILED'
}

/** abstract-level wraps what made it fail to open. */
function rootOf(cause: unknown): unknown {
  return cause instanceof Error && cause.cause !== undefined ? rootOf(cause.cause) : cause
}
