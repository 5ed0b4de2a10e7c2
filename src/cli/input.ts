/** What a command reads: files that were named, and standard input. */
import { readFileSync } from 'node:fs'
import { UsageError } from './failure.ts'

/** All of standard input. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** `given` itself, or standard input where it is `-`. */
export async function textOrStdin(given: string): Promise<string> {
  return given === '-' ? (await readStdin()).trimEnd() : given
}

/** The bytes of a file that the person named; throws UsageError where it cannot be read. */
export function readNamedFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${fileTrouble(error)}.`, 'Name a file that exists.')
  }
}

/** Why a file could not be read or written, for people. */
export function fileTrouble(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return FILE_TROUBLE[code] ?? code
}

const FILE_TROUBLE: Record<string, string> = {
  ENOENT: 'there is no such file or folder',
  EEXIST: 'it exists already',
  EISDIR: 'it is a folder',
  EACCES: 'its permissions do not allow it',
  ENOTDIR: 'a part of its path is a file',
  ENOSPC: 'no space is left on the disk',
}

/** The text of `bytes`, or undefined if they are not UTF-8. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A length of time like 30s, 10m or 24h, in seconds; throws UsageError for anything else. */
export function parseDuration(text: string): number {
  const match = /^([1-9]\d{0,6})([smhd])$/.exec(text)
  const unit = { s: 1, m: 60, h: 3600, d: 86_400 }[match?.[2] ?? '']
  if (match === null || unit === undefined) {
    throw new UsageError(`"${text}" is not a length of time.`, 'Write it like 30s, 10m, 24h or 7d.')
  }
  return Number(match[1]) * unit
}
